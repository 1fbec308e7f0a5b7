/// Reads the lines of `sha256sum` and its sisters, tagged or not, and judges them as coreutils does.
struct ChecksumLineParser: Sendable {
  /// What a line without a tag holds, where its length allows it.
  let algorithm: DigestAlgorithm?
  let zero: Bool
  private var isReversed: Bool?

  init(algorithm: DigestAlgorithm?, zero: Bool) {
    self.algorithm = algorithm
    self.zero = zero
  }

  /// Whether a line says something in this grammar, so that its name cannot make it one of another.
  func accepts(_ line: [UInt8]) -> Bool {
    var probe = self
    return ((try? probe.parse(line)) ?? nil) != nil
  }

  mutating func parse(_ line: [UInt8]) throws(MalformedLine) -> ManifestEntry? {
    guard let first = line.first, first != UInt8(ascii: "#") else { return nil }
    guard !line.contains(0) else { throw MalformedLine("a NUL byte") }
    var text = line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
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
