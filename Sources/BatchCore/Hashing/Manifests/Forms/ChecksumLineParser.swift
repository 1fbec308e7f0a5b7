import BatchEngine

/// Reads the lines of `sha256sum` and related tools, tagged or not, by the rules of coreutils.
struct ChecksumLineParser: Sendable {
  /// The algorithm of a line without a tag; nil if the length decides.
  let algorithm: DigestAlgorithm?
  let zero: Bool
  private var isReversed: Bool?

  init(algorithm: DigestAlgorithm?, zero: Bool) {
    self.algorithm = algorithm
    self.zero = zero
  }

  /// Whether a line is valid in this format, so that its name cannot make it look like one of another format.
  func accepts(_ line: [UInt8]) -> Bool {
    var probe = self
    return ((try? probe.parse(line)) ?? nil) != nil
  }

  /// Whether a line looks like a row: a word of 20 bytes or more, a blank, a space or `*`, and a name; or
  /// `ALGORITHM (name) =`.
  static func hasShapeOfRow(_ line: [UInt8]) -> Bool {
    var text = line.drop(while: isBlank)
    if text.first == EscapedName.mark { text = text.dropFirst() }
    let word = text.prefix { !isBlank($0) }
    let name = text[word.endIndex...].dropFirst()
    if word.count >= shortestWord, name.count > 1,
      name.first == UInt8(ascii: " ") || name.first == UInt8(ascii: "*")
    {
      return true
    }
    return BSDManifest.hasShapeOfRow(text)
  }

  /// Whether a line between rows is text: blank, an indented comment, or a heading such as `SHA512:`.
  static func isText(_ line: [UInt8]) -> Bool {
    guard let first = line.first(where: { !isBlank($0) }) else { return true }
    return first == UInt8(ascii: "#") || line.last { !isBlank($0) } == UInt8(ascii: ":")
  }

  static func isBlank(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  /// Words of prose are shorter, and digests of all collision-resistant algorithms are longer.
  static let shortestWord = 20

  mutating func parse(_ line: [UInt8]) throws(MalformedLine) -> ManifestEntry? {
    guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
    guard !line.contains(0) else { throw MalformedLine("a NUL byte") }
    var text = line.drop(while: Self.isBlank)
    let isEscaped = text.first == EscapedName.mark
    if isEscaped {
      guard !zero else { throw MalformedLine("an escaped line between lines that end with NUL") }
      text = text.dropFirst()
    }
    let digest: Digest
    let name: ArraySlice<UInt8>
    var isGuess = false
    if let tagged = try BSDManifest.parse(text) {
      (digest, name) = tagged
    } else {
      (digest, name, isGuess) = try GNUManifest.parse(text, as: algorithm, isReversed: &isReversed)
    }
    let path = PathBytes(isEscaped ? try EscapedName.decode(name) : Array(name))
    return ManifestEntry(path: path, digests: [digest], isAlgorithmGuessed: isGuess)
  }
}
