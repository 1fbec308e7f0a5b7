import Glibc
import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The bytes of an index")
struct IndexExtentTests {
  private let folder: TreeFixture

  init() throws { folder = try TreeFixture() }

  /// A sparse file with these bytes.
  private func file(_ pieces: [(UInt64, [UInt8])], size: UInt64) throws -> ArchiveFile {
    let path = try folder.file("large", [])
    let descriptor = path.withCString { open($0, O_RDWR) }
    try #require(descriptor >= 0)
    defer { close(descriptor) }
    try #require(ftruncate(descriptor, off_t(size)) == 0)
    for (offset, bytes) in pieces {
      try #require(pwrite(descriptor, bytes, bytes.count, off_t(offset)) == bytes.count)
    }
    return try ArchiveFile(path, in: SourceContext(RunContext()))
  }

  @Test("are read across pieces in memory and in the file")
  func pieces() throws {
    let content = Array(0..<200 as Range<UInt8>)
    let file = try file([(0, content)], size: 300)
    let ranges: [Range<UInt64>] = [10..<20, 20..<20, 100..<150, 0..<5]
    let extent = IndexExtent(of: file, ranges)
    let all = ranges.flatMap { content[Int($0.lowerBound)..<Int($0.upperBound)] }
    #expect(extent.count == UInt64(all.count))
    for start in 0...all.count {
      for end in start...all.count {
        #expect(try extent.bytes(UInt64(start)..<UInt64(end)) == Array(all[start..<end]))
      }
    }
    expectError(.malformed) { try extent.bytes(0..<UInt64(all.count + 1)) }
    #expect(try IndexExtent(content[5..<50]).bytes(1..<3) == [6, 7])
  }

  @Test("have the same digest in one piece and in many pieces", arguments: [UInt64(0), .max])
  func digests(limit: UInt64) throws {
    let content = SampleContent.noise.bytes(3 << 20)
    let stream = try DigestStream(.sha256)
    let part = try IndexExtent(content).part(1..<UInt64(content.count), stream, inMemoryUpTo: limit)
    let digest = try stream.finish()
    let expected = try withBytes(of: Array(content[1...])) { (raw) throws(BatchError) in
      try DigestStream(.sha256).digest(of: raw)
    }
    #expect(digest == expected)
    #expect(try part.bytes(0..<4) == Array(content[1..<5]))
  }

  @Test("may have more bytes than fit into 32 bits")
  func large() throws {
    let far: UInt64 = 5 << 30
    let file = try file([(far - 2, [1, 2, 3, 4])], size: far + 100)
    let extent = IndexExtent(of: file, [0..<(3 << 30), (3 << 30)..<(far + 100)])
    #expect(extent.count == far + 100)
    #expect(try extent.bytes((far - 2)..<(far + 2)) == [1, 2, 3, 4])
  }

  @Test("are found in a tar when they exceed 2 GiB")
  func largeTar() throws {
    let length: UInt64 = (3 << 30) + 77
    let block = TailBlock(indexLength: length)
    let tail = try #require(block.tailLength)
    #expect(tail == (3 << 30) + 512 + 512)
    let start: UInt64 = 4096
    let end = start + tail
    let file = try file([(start, [0x28, 0xB5, 0x2F, 0xFD]), (end - 512, block.bytes)], size: end)
    let place = try #require(try TarIndexLocator(file: file, size: end).locate())
    #expect(place.start == start && place.index?.count == length && place.remarks == [])
  }

  @Test("are found in skippable frames when they exceed 2 GiB", arguments: ["tar.zst", "tar.lz4"])
  func largeFrames(format: String) throws {
    let room: UInt64 = 1 << 30
    let start: UInt64 = 32
    func head(_ magic: UInt32, _ count: UInt64) -> [UInt8] {
      var bytes: [UInt8] = []
      bytes.appendLittleEndian(magic)
      bytes.appendLittleEndian(UInt32(count))
      return bytes
    }
    var pieces: [(UInt64, [UInt8])] = []
    var entries: [UInt8] = head(0, 0) + head(0, 0)
    entries.replaceSubrange(0..<4, with: [32, 0, 0, 0])
    entries.removeLast(8)
    var offset = start
    for length in [room, room, 500] {
      pieces.append((offset, head(ArchiveTail.indexMagic, length + 6) + ArchiveTail.indexHead))
      entries += head(UInt32(length + 14), 0)
      offset += length + 14
    }
    if format == "tar.zst" {
      var end: [UInt8] = []
      end.appendLittleEndian(UInt32(4))
      end.append(0)
      end.appendLittleEndian(ZstdSeekTable.endMagic)
      pieces.append((offset, head(ZstdSeekTable.magic, UInt64(entries.count + 9)) + entries + end))
    } else {
      var place: [UInt8] = []
      place.appendLittleEndian(start)
      pieces.append((offset, head(ArchiveTail.locatorMagic, 16) + place + ArchiveTail.locatorText))
    }
    let size = offset + UInt64(pieces.last?.1.count ?? 0)
    let file = try file(pieces, size: size)
    let locator: any IndexLocator =
      format == "tar.zst"
      ? ZstdIndexLocator(file: file, size: size, memory: 1 << 20)
      : LZ4IndexLocator(file: file, size: size, memory: 1 << 20)
    let place = try #require(try locator.locate())
    #expect(place.start == start && place.index?.count == 2 * room + 500)
  }
}
