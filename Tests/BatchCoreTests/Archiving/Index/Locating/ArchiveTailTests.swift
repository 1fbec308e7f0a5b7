import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite struct ArchiveTailTests {
  private let index = TreeFixture.content(150_000)
  private let frames = [
    MemberIndex.Frame(compressed: 0..<1000, plain: 0..<5120, check: 1),
    MemberIndex.Frame(compressed: 1000..<1020, plain: 5120..<6144, check: 2),
  ]

  private func tail(_ name: String) throws -> [UInt8] {
    let format = try #require(ArchiveFormat(named: name))
    let tail = ArchiveTail(format: format, index: IndexExtent(index), offset: 1020, frames: frames)
    var bytes: [UInt8] = []
    try tail.write(try format.compression?.makeContext()) { bytes += $0 }
    return bytes
  }

  private func number(_ bytes: [UInt8], at offset: Int, count: Int) -> UInt64 {
    bytes[offset..<(offset + count)].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }

  @Test func ofZstdIsSkippableAndEndsInASeekTable() throws {
    let bytes = try tail("tar.zst")
    #expect(number(bytes, at: 0, count: 4) == 0x184D_2A5A)
    let size = Int(number(bytes, at: 4, count: 4))
    #expect(size == index.count + 6)
    #expect(Array(bytes[8..<14]) == Array("BPIX".utf8) + [4, 0])
    #expect(Array(bytes[14..<(8 + size)]).equals(index))
    let table = 8 + size
    #expect(number(bytes, at: table, count: 4) == 0x184D_2A5E)
    #expect(number(bytes, at: table + 4, count: 4) == 3 * 8 + 9)
    let numbers = (0..<6).map { number(bytes, at: table + 8 + $0 * 4, count: 4) }
    #expect(numbers == [1000, 5120, 20, 1024, UInt64(size + 8), 0])
    #expect(number(bytes, at: bytes.count - 9, count: 4) == 3)
    #expect(bytes[bytes.count - 5] == 0)
    #expect(number(bytes, at: bytes.count - 4, count: 4) == 0x8F92_EAB1)
    #expect(bytes.count == table + 8 + 33)
  }

  @Test(
    "is written in several parts when the index is too large for one",
    arguments: ["tar.zst", "tar.lz4", "tar.bz2"])
  func parts(name: String) throws {
    let format = try #require(ArchiveFormat(named: name))
    let codec = try format.compression?.makeContext()
    let builder = try MemberIndexBuilder()
    let extent = try builder.finish(frames)
    let stored = try extent.bytes(0..<extent.count)
    let whole = stored + index
    let pieces = IndexExtent([stored, Array(index[..<70_000]), Array(index[70_000...])])
    let tail = ArchiveTail(format: format, index: pieces, offset: 40, frames: [], partSize: 40_000)
    var bytes = [UInt8](repeating: 0, count: 40)
    try tail.write(codec) { bytes += $0 }
    let folder = try TreeFixture()
    let file = try ArchiveFile(folder.file("archive", bytes), in: SourceContext(RunContext()))
    let size = UInt64(bytes.count)
    let place: IndexPlace? =
      switch name {
      case "tar.lz4": try LZ4IndexLocator(file: file, size: size, memory: 1 << 20).locate()
      case "tar.bz2":
        try BZip2IndexLocator(
          file: file, size: size, memory: 1 << 20, right: ReadingRight()
        ).locate()
      default:
        try SkippableTail(file: file, size: size, memory: 1 << 20).place(
          of: stride(from: 0, to: whole.count, by: 40_000).map {
            let start = 40 + UInt64($0) + UInt64($0 / 40_000) * 14
            return start..<(start + 14 + UInt64(min(40_000, whole.count - $0)))
          })
      }
    let found = try #require(place?.index)
    #expect(found.count == UInt64(whole.count) && place?.start == 40)
    #expect(try found.bytes(0..<found.count).equals(whole))
  }

  @Test func ofLZ4EndsInALocator() throws {
    let bytes = try tail("tar.lz4")
    #expect(number(bytes, at: 0, count: 4) == 0x184D_2A5A)
    let end = bytes.count - 24
    #expect(number(bytes, at: end, count: 4) == 0x184D_2A5B)
    #expect(number(bytes, at: end + 4, count: 4) == 16)
    #expect(number(bytes, at: end + 8, count: 8) == 1020)
    #expect(Array(bytes.suffix(8)) == Array("BPTAIL01".utf8))
  }

  @Test func ofGzipIsEmptyMembersAndALocatorOf64Bytes() throws {
    let bytes = try tail("tar.gz")
    let last = Array(bytes.suffix(64))
    #expect(Array(last[..<16]) == [0x1F, 0x8B, 8, 4, 0, 0, 0, 0, 0, 255, 42, 0, 0x42, 0x54, 38, 0])
    #expect(number(last, at: 16, count: 8) == 1020)
    #expect(Array(last[24..<32]) == Array("BPTAIL01".utf8))
    #expect(Array(last.suffix(10)) == [3, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    var found: [UInt8] = []
    var position = 0
    while position < bytes.count - 64 {
      #expect(Array(bytes[(position + 12)..<(position + 14)]) == Array("BP".utf8))
      let size = Int(number(bytes, at: position + 14, count: 2))
      #expect(size <= 60_000)
      found += bytes[(position + 16)..<(position + 16 + size)]
      position += 16 + size + 10
    }
    #expect(found == index && position == bytes.count - 64)
    // The members have no content, so decoding them gives no bytes and no error.
    let decoder = try CompressionFormat.gz.makeDecoder()
    var plain: [UInt8] = []
    try withBytes(of: bytes) { (raw) throws(BatchError) in
      do throws(DecodingError) {
        try decoder.decode(raw) { plain.append(contentsOf: $0) }
        try decoder.finish()
      } catch {
        throw BatchError(.malformed, "\(error)")
      }
    }
    #expect(plain == [])
  }

  @Test func ofTarEndsInABlock() throws {
    let bytes = try tail("tar")
    #expect(bytes.count % 512 == 0)
    #expect(Array(bytes[..<index.count]) == index)
    let last = Array(bytes.suffix(512))
    #expect(Array(last[..<8]) == Array("BPTAIL01".utf8))
    #expect(number(last, at: 8, count: 8) == UInt64(index.count))
    #expect(last[16...].allSatisfy { $0 == 0 })
    #expect(bytes.count == (index.count + 511) / 512 * 512 + 512)
  }
}
