import BatchEngine
import TestSupport
import Testing

@testable import BatchCore

@Suite("The reader of an age header")
struct AgeHeaderReaderTests {
  private static let share = String(repeating: "A", count: 43)

  private static func stanza(arguments: Int = 2, lines: Int = 0) -> String {
    "-> X25519" + String(repeating: " x", count: arguments - 1) + "\n"
      + String(repeating: String(repeating: "A", count: 64) + "\n", count: lines) + share + "\n"
  }

  private static func header(_ stanzas: [String]) -> [UInt8] {
    Array(("age-encryption.org/v1\n" + stanzas.joined() + "--- \(share)\n").utf8)
  }

  /// Reads a header of which `piece` more bytes are there in each step.
  private func read(_ bytes: [UInt8], piece: Int = .max) throws(BatchError) -> AgeHeader {
    var reader = AgeHeaderReader()
    var count = 0
    while true {
      count += min(piece, bytes.count - count)
      if let header = try reader.read(Array(bytes[..<count]), isAll: count == bytes.count) { return header }
    }
  }

  @Test("gives the same for pieces of any size", arguments: [1, 2, 63, 64, 65, 1000])
  func pieces(size: Int) throws {
    let bytes = Self.header([Self.stanza(), Self.stanza(arguments: 3, lines: 2), Self.stanza(arguments: 1)])
    let (whole, parts) = (try read(bytes), try read(bytes, piece: size))
    #expect(parts.stanzas == whole.stanzas && parts.bytes == bytes && parts.size == bytes.count)
    #expect(whole.stanzas.map(\.arguments.count) == [2, 3, 1] && whole.stanzas[1].body.count == 2 * 48 + 32)
  }

  @Test("refuses a header that costs more time or memory than any real one")
  func limits() throws {
    let most = AgeHeaderReader.mostStanzas
    #expect(
      try read(Self.header(Array(repeating: Self.stanza(arguments: 1), count: most))).stanzas.count == most)
    for stanzas in [
      Array(repeating: Self.stanza(arguments: 1), count: most + 1),
      [Self.stanza(arguments: AgeHeaderReader.mostArguments + 1)],
      [Self.stanza(lines: AgeHeader.largest / 64)],
    ] {
      expectError(.malformed) { try read(Self.header(stanzas), piece: 1 << 20) }
    }
    #expect(try read(Self.header([Self.stanza(arguments: AgeHeaderReader.mostArguments)])).stanzas.count == 1)
  }

  @Test("a header that would not be read is not written either")
  func written() throws {
    let key = try SecretBytes(copying: [UInt8](repeating: 1, count: 16))
    let stanza = AgeHeader.Stanza(
      arguments: [Array("X25519".utf8), Array(Self.share.utf8)], body: [UInt8](repeating: 2, count: 32))
    let most = AgeHeaderReader.mostStanzas
    let largest = try AgeHeader(Array(repeating: stanza, count: most), fileKey: key)
    #expect(largest.size < AgeHeader.largest)
    #expect(try read(largest.bytes, piece: 1 << 20).stanzas.count == most)
    expectError(.invalid) { try AgeHeader(Array(repeating: stanza, count: most + 1), fileKey: key) }
    let body = [UInt8](repeating: 2, count: AgeHeader.largest)
    expectError(.invalid) {
      try AgeHeader([AgeHeader.Stanza(arguments: stanza.arguments, body: body)], fileKey: key)
    }
  }
}
