import BatchEngine

/// Lines of `sha256sum` and related tools: the digest, a space, a type mark, the name.
enum GNUManifest {
  /// XXH3 is written in tagged lines here too, as `xxhsum` does: it reads 16 digits without a tag as XXH64.
  static func append(_ row: ManifestRow, zero: Bool, to output: inout [UInt8]) {
    let isEscaped = !zero && EscapedName.isNeeded(for: row.path.bytes)
    for digest in row.digests {
      guard digest.algorithm != .xxh3 else {
        BSDManifest.append(digest, of: row.path, zero: zero, to: &output)
        continue
      }
      if isEscaped { output.append(EscapedName.mark) }
      digest.appendHex(to: &output)
      output.append(UInt8(ascii: " "))
      output.append(UInt8(ascii: " "))
      EscapedName.append(row.path.bytes, isEscaped: isEscaped, to: &output)
      output.append(zero ? 0 : UInt8(ascii: "\n"))
    }
  }

  /// The digest and the name of a line without leading blanks and escape mark.
  ///
  /// - Parameter isReversed: whether one space precedes the name, as on old BSD systems. The first line of a manifest decides,
  ///   because otherwise a name that begins with a space would be ambiguous.
  static func parse(
    _ text: ArraySlice<UInt8>, as forced: DigestAlgorithm?, isReversed: inout Bool?
  ) throws(MalformedLine) -> (digest: Digest, name: ArraySlice<UInt8>, isGuess: Bool) {
    // xxhsum 0.8.2 and later mark XXH3 like this, because 16 digits without a mark mean XXH64.
    let isMarked = text.starts(with: "XXH3_".utf8)
    let text = isMarked ? text.dropFirst(5) : text
    let digits = text.prefix { Hexadecimal.value(of: $0) != nil }
    let word = text.prefix { !ChecksumLineParser.isBlank($0) }
    guard digits.count == word.count || word.count < ChecksumLineParser.shortestWord else {
      throw MalformedLine("a digest that is not hexadecimal")
    }
    guard digits.count >= 8 else { throw MalformedLine("not a checksum line") }
    let candidates = DigestAlgorithm.candidates(hexLength: digits.count)
    guard let likely = candidates.first else {
      throw MalformedLine("no supported algorithm has digests of \(digits.count) hexadecimal digits")
    }
    guard !isMarked || likely == .xxh3 else { throw MalformedLine("not 16 hexadecimal digits of XXH3") }
    if let forced, !isMarked, !candidates.contains(forced) {
      throw MalformedLine(
        "a digest of \(digits.count) hexadecimal digits, where \(forced.rawValue) has \(forced.byteCount * 2)"
      )
    }
    let isForced = forced.map { candidates.contains($0) } ?? false
    guard let blank = text[digits.endIndex...].first,
      ChecksumLineParser.isBlank(blank),
      let digest = Digest(isForced ? forced ?? likely : likely, hex: digits)
    else { throw MalformedLine("no blank after the digest") }

    var name = text[(digits.endIndex + 1)...]
    guard let first = name.first else { throw MalformedLine("no name after the digest") }
    if name.count == 1 || first != UInt8(ascii: " ") && first != UInt8(ascii: "*") {
      guard isReversed != false else {
        throw MalformedLine("one space before the name, where other lines have two characters")
      }
      isReversed = true
    } else if isReversed != true {
      isReversed = false
      name = name.dropFirst()
    }
    let isGuess = candidates.count > 1 ? !isForced : likely == .xxh3 && !isMarked
    return (digest, name, isGuess)
  }
}
