import BatchEngine

/// Lines of `sha256sum --tag`: the algorithm, the name in parentheses, the digest.
enum BSDManifest {
  static func append(_ row: ManifestRow, zero: Bool, to output: inout [UInt8]) {
    for digest in row.digests { append(digest, of: row.path, zero: zero, to: &output) }
  }

  static func append(_ digest: Digest, of path: PathBytes, zero: Bool, to output: inout [UInt8]) {
    let isEscaped = !zero && EscapedName.isNeeded(for: path.bytes)
    if isEscaped { output.append(EscapedName.mark) }
    output.append(contentsOf: digest.algorithm.bsdTag.utf8)
    output.append(UInt8(ascii: " "))
    output.append(UInt8(ascii: "("))
    EscapedName.append(path.bytes, isEscaped: isEscaped, to: &output)
    output.append(literal: ") = ")
    digest.appendHex(to: &output)
    output.append(zero ? 0 : UInt8(ascii: "\n"))
  }

  /// The digest and the name of a line without leading blanks and escape mark; nil if it does not begin with a tag.
  ///
  /// `openssl` omits the space before the parenthesis and, like others, those around the `=`.
  static func parse(
    _ text: ArraySlice<UInt8>
  ) throws(MalformedLine) -> (digest: Digest, name: ArraySlice<UInt8>)? {
    guard let (tag, rest) = Self.tag(of: text) else { return nil }
    guard let algorithm = DigestAlgorithm(tag: tag) else {
      // In the reversed form, this is a digest before a name that begins with a parenthesis.
      if tag.allSatisfy({ Hexadecimal.value(of: $0) != nil }) { return nil }
      throw MalformedLine(
        "unsupported algorithm" + (isTag(tag) ? " \(String(decoding: tag, as: UTF8.self))" : ""))
    }
    guard let close = rest.lastIndex(of: UInt8(ascii: ")")) else {
      throw MalformedLine("no parenthesis after the name")
    }
    let tail = rest[(close + 1)...].drop(while: ChecksumLineParser.isBlank)
    guard tail.first == UInt8(ascii: "=") else { throw MalformedLine("no = after the name") }
    guard let digest = Digest(algorithm, hex: tail.dropFirst().drop(while: ChecksumLineParser.isBlank)) else {
      throw MalformedLine("not \(algorithm.byteCount * 2) hexadecimal digits after the =")
    }
    return (digest, rest[..<close])
  }

  /// Whether a line looks like `ALGORITHM (name) =`, regardless of what follows; for a known algorithm the beginning is enough.
  static func hasShapeOfRow(_ text: ArraySlice<UInt8>) -> Bool {
    guard let (tag, rest) = Self.tag(of: text), isTag(tag) else { return false }
    if DigestAlgorithm(tag: tag) != nil { return true }
    guard let close = rest.lastIndex(of: UInt8(ascii: ")")) else { return false }
    return rest[(close + 1)...].drop(while: ChecksumLineParser.isBlank).first == UInt8(ascii: "=")
  }

  /// The word before the first parenthesis, and what is behind that; nil if no parenthesis follows the first word.
  private static func tag(of text: ArraySlice<UInt8>) -> (tag: ArraySlice<UInt8>, rest: ArraySlice<UInt8>)? {
    let tag = text.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "(") }
    var rest = text[tag.endIndex...]
    if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
    return rest.popFirst() == UInt8(ascii: "(") ? (tag, rest) : nil
  }

  /// Whether a word could be the name of an algorithm; then it is safe to print.
  private static func isTag(_ word: ArraySlice<UInt8>) -> Bool {
    (1...32).contains(word.count)
      && word.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: "_"):
          true
        default: false
        }
      }
  }
}
