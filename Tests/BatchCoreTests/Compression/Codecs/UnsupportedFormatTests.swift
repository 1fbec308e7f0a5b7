import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("Formats that are not read")
struct UnsupportedFormatTests {
  @Test(
    "are recognized and named",
    arguments: [
      ("lzop", 0, [0x89, 0x4C, 0x5A, 0x4F, 0, 0x0D, 0x0A, 0x1A, 0x0A]),
      ("legacy lz4", 0, [2, 0x21, 0x4C, 0x18]),
      ("RAR", 0, [0x52, 0x61, 0x72, 0x21, 0x1A, 7, 0]),
      ("RAR 5", 0, [0x52, 0x61, 0x72, 0x21, 0x1A, 7, 1, 0]),
      ("LHA", 2, [0x2D, 0x6C, 0x68, 0x35, 0x2D]), ("zstd before version 0.8", 0, [0x27, 0xB5, 0x2F, 0xFD]),
      ("ISO 9660", 32769, [0x43, 0x44, 0x30, 0x30, 0x31]),
    ] as [(String, Int, [UInt8])])
  func magics(name: String, offset: Int, magic: [UInt8]) {
    let start = [UInt8](repeating: 0x20, count: offset) + magic
    #expect(UnsupportedFormat.detect(start)?.name == name)
    #expect(UnsupportedFormat.detect(Array(start.dropLast())) == nil)
    #expect(UnsupportedFormat.detect([0x20] + start) == nil)
    #expect(CompressionFormat.detect(start) == nil)
  }

  @Test("are none of the supported formats", arguments: CompressionFormat.writable)
  func supported(format: CompressionFormat) throws {
    #expect(UnsupportedFormat.detect(try format.compressed([1, 2, 3])) == nil)
  }

  @Test("are recognized by the file name when they have no magic number")
  func names() {
    #expect(UnsupportedFormat.claimed(by: "d/x.br")?.name == "Brotli")
    #expect(UnsupportedFormat.claimed(by: "x.brr") == nil && UnsupportedFormat.claimed(by: "x.gz") == nil)
  }
}
