import BatchEngine

/// Removes the armor of an age file: strict PEM, with lines that end in LF or CRLF.
struct ArmorDecoder {
  static let header = Array("-----BEGIN AGE ENCRYPTED FILE-----".utf8)
  private static let footer = Array("-----END AGE ENCRYPTED FILE-----".utf8)
  /// The longest line with its end.
  private static let longestLine = 64 + 2

  /// The most bytes of white space before the header and behind the footer, as in age.
  static let mostSpace = 1024

  private enum Place { case beforeHeader, content, beforeFooter, behind }
  private var place = Place.beforeHeader
  private var line: [UInt8] = []
  /// Bytes of white space in the lines before the header or behind the footer.
  private var space = 0

  /// Decodes the next bytes of the file.
  ///
  /// - Throws: `malformed` for every deviation.
  mutating func add(_ bytes: some Sequence<UInt8>, to plain: inout [UInt8]) throws(BatchError) {
    for byte in bytes {
      guard byte == AgeHeader.newline else {
        line.append(byte)
        guard line.count <= (place == .beforeHeader || place == .behind ? Self.mostSpace : Self.longestLine)
        else {
          throw AgeDamage.armor
        }
        continue
      }
      try end(to: &plain)
    }
  }

  /// - Throws: `malformed` when the armor is incomplete.
  mutating func finish(to plain: inout [UInt8]) throws(BatchError) {
    if !line.isEmpty { try end(to: &plain) }
    guard place == .behind else { throw AgeDamage.armor }
  }

  private mutating func end(to plain: inout [UInt8]) throws(BatchError) {
    defer { line.removeAll(keepingCapacity: true) }
    let length = line.count + 1
    if line.last == UInt8(ascii: "\r") { line.removeLast() }
    switch place {
    case .beforeHeader:
      if line.elementsEqual(Self.header) {
        place = .content
        space = 0
      } else {
        try takeSpace(length, upTo: Self.mostSpace)
      }
    case .content, .beforeFooter:
      if line.elementsEqual(Self.footer) { return place = .behind }
      guard place == .content, !line.isEmpty, line.count <= 64, let bytes = Self.decode(line) else {
        throw AgeDamage.armor
      }
      plain += bytes
      if line.count < 64 || bytes.count < 48 { place = .beforeFooter }
    case .behind:
      // age reads less than the limit there.
      try takeSpace(length, upTo: Self.mostSpace - 1)
    }
  }

  private mutating func takeSpace(_ length: Int, upTo most: Int) throws(BatchError) {
    space += length
    guard space <= most, line.allSatisfy(Self.isSpace) else { throw AgeDamage.armor }
  }

  /// Only the last line may have padding.
  private static func decode(_ line: [UInt8]) -> [UInt8]? {
    guard line.count % 4 == 0 else { return nil }
    let padding = line.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2 else { return nil }
    return CanonicalBase64.decode(line.dropLast(padding))
  }

  private static func isSpace(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0D].contains(byte) }
}
