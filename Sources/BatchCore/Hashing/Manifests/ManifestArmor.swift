import BatchEngine

/// Separates the lines that OpenPGP adds around a signed text (RFC 9580, 6.2 and 7.1) from the rows in it.
///
/// It never removes a line that could be a row: the lines of a signature are base64 without blanks.
struct ManifestArmor: Sendable {
  private enum Part: Sendable {
    case outside
    /// Headers such as `Hash: SHA256`, up to an empty line.
    case headers(ofSignature: Bool)
    case signature
  }

  private var part = Part.outside

  /// Whether a line belongs to the armor. Called for each line, in order.
  mutating func takes(_ line: [UInt8]) -> Bool {
    if line.starts(with: "-----BEGIN PGP ".utf8) {
      part = .headers(ofSignature: !line.elementsEqual("-----BEGIN PGP SIGNED MESSAGE-----".utf8))
      return true
    }
    if line.starts(with: "-----END PGP ".utf8) {
      part = .outside
      return true
    }
    if case .headers(let isSignature) = part {
      if Self.isHeader(line) { return true }
      part = isSignature ? .signature : .outside
    }
    guard case .signature = part, !line.isEmpty else { return false }
    if line.allSatisfy(Self.isBase64) { return true }
    part = .outside
    return false
  }

  private static func isHeader(_ line: [UInt8]) -> Bool {
    let key = line.prefix { isBase64($0) }
    return !key.isEmpty && line[key.endIndex...].starts(with: ": ".utf8)
  }

  private static func isBase64(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="):
      true
    default: false
    }
  }
}
