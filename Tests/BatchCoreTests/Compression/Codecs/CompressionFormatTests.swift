import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Compression formats")
struct CompressionFormatTests {
  @Test(
    "are found by suffix and by tool",
    arguments: [
      ("gz", CompressionFormat.gz), ("gzip", .gz), ("ZST", .zst), ("zstd", .zst), ("xz", .xz), ("lz4", .lz4),
    ])
  func names(name: String, format: CompressionFormat) throws {
    #expect(try CompressionFormat(named: name) == format)
  }

  @Test("are refused under another name")
  func unknownName() {
    let error = #expect(throws: BatchError.self) { try CompressionFormat(named: "bz2") }
    #expect(error?.code == .invalid)
    #expect(error?.remedy == "use one of gz, zst, xz, lz4")
  }

  @Test("have the levels of their tools", arguments: CompressionFormat.writable)
  func levels(format: CompressionFormat) throws {
    #expect(try format.checkedLevel(nil) == format.defaultLevel)
    #expect(try format.checkedLevel(format.levels.lowerBound) == format.levels.lowerBound)
    for level in [format.levels.lowerBound - 1, format.levels.upperBound + 1] {
      expectError(.invalid) { try format.makeContext(level: level) }
      expectError(.invalid) { try BlockPlan(format, level: level, fileSize: 1) }
    }
  }

  @Test(
    "are detected by the first bytes of what the stock tool writes", arguments: CompressionFormat.writable)
  func detection(format: CompressionFormat) throws {
    let stock = try Outcome(shell: "\(format.toolName) -c", input: Array("content".utf8))
    #expect(CompressionFormat.detect(stock.output) == format)
    #expect(CompressionFormat.detect(Array(stock.output.prefix(6))) == format)
    #expect(CompressionFormat.isCompressed(start: stock.output))
  }

  @Test("are detected after a skippable frame by the next frame")
  func skippable() throws {
    let skippable: [UInt8] = [0x5A, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 1, 2, 3]
    #expect(CompressionFormat.detect(skippable + [0x04, 0x22, 0x4D, 0x18]) == .lz4)
    #expect(CompressionFormat.detect(skippable + skippable + [0x28, 0xB5, 0x2F, 0xFD]) == .zst)
    #expect(CompressionFormat.detect(skippable) == .zst)
    #expect(CompressionFormat.detect([0x50, 0x2A, 0x4D, 0x18, 0xFF, 0xFF, 0xFF, 0xFF]) == .zst)
  }

  @Test(
    "are not detected in other content",
    arguments: ["", "\u{1F}", "plain text", "BZh91AYsSY", "BZh0", "PK\u{3}\u{4}", "%PDF-1.7"])
  func noFormat(text: String) {
    #expect(CompressionFormat.detect(Array(text.utf8)) == nil)
  }

  @Test(
    "of other programs are recognized as compressed",
    arguments: [
      Array("BZh91AY&SY".utf8), Array("PK\u{3}\u{4}".utf8), [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C],
      Array("Rar!".utf8) + [0x1A, 0x07, 0x01, 0x00], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A],
      [0xFF, 0xD8, 0xFF, 0xE0], [0, 0, 0, 0x20] + Array("ftypisom".utf8), [0x1A, 0x45, 0xDF, 0xA3],
      Array("OggS".utf8), Array("fLaC".utf8), Array("ID3\u{4}".utf8), [0xFF, 0xFB, 0x90, 0x64],
      Array("wOF2".utf8), [0x37, 0xA4, 0x30, 0xEC], Array("RIFF    WEBPVP8 ".utf8),
    ] as [[UInt8]])
  func compressed(start: [UInt8]) {
    #expect(CompressionFormat.isCompressed(start: start))
    #expect(!CompressionFormat.isCompressed(start: Array(start.dropLast(start.count - 1))))
  }

  @Test(
    "are not recognized in content that can be compressed",
    arguments: [
      Array("%PDF-1.7".utf8), Array("\u{7F}ELF".utf8), Array("RIFF    WAVEfmt ".utf8), Array("BM".utf8),
      [0xFF, 0xFE, 0x61, 0x00], [0xFF, 0xFF, 0xFF, 0xFF], [], [0, 0, 0, 0],
    ] as [[UInt8]])
  func plain(start: [UInt8]) {
    #expect(!CompressionFormat.isCompressed(start: start))
  }
}
