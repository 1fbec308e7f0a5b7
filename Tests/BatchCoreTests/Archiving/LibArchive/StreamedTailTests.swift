import TestSupport
import Testing

@testable import BatchCore
@testable import BatchEngine

@Suite("The tail of a plain tar that is read as a stream")
struct StreamedTailTests {
  private static let start: UInt64 = 3072

  /// An index of two frames whose bytes have the CRC-32 0 and 1, and all blocks after the archive.
  private func tail(changing change: (inout [UInt8]) -> Void = { _ in }) throws -> [UInt8] {
    var index = IndexBytes()
    index.frames = [[0, 2048, 0, 2048], [2048, 1024, 2048, 1024]]
    var bytes = try index.stored()
    let block = TailBlock(indexLength: UInt64(bytes.count))
    change(&bytes)
    TarBlock.pad(&bytes, from: 0)
    return bytes + block.bytes
  }

  /// The CRC-32 of the stream that has this tail.
  private func check(of tail: [UInt8]) -> UInt32 {
    let frames = GzipBlockTable.join(GzipBlockTable.join(0, 0, count: 2048), 1, count: 1024)
    return GzipBlockTable.join(frames, tail.withUnsafeBytes { ArchiveFrame.check(of: $0) }, count: tail.count)
  }

  /// - Parameter first: how many bytes were read with the end of the archive.
  private func compare(
    _ bytes: [UInt8], first: Int = 7, memory: Int = 1 << 20, start: UInt64 = Self.start, check: UInt32? = nil
  ) throws -> String? {
    var tail = StreamedTail(StreamCheck(value: 0, memory: memory), Array(bytes.prefix(first)))
    for piece in stride(from: first, to: bytes.count, by: 100) {
      Array(bytes[piece..<min(piece + 100, bytes.count)]).withUnsafeBytes { tail.add($0) }
    }
    return try tail.compare(check ?? self.check(of: bytes), at: start, "a.tar")
  }

  @Test("is compared with the checksum of the whole stream", arguments: [0, 7, 1024])
  func right(first: Int) throws {
    let bytes = try tail()
    #expect(try compare(bytes, first: first) == nil)
    #expect {
      try compare(bytes, first: first, check: check(of: bytes) ^ 1)
    } throws: {
      let error = $0 as? BatchError
      return error?.code == .malformed && error?.path == "a.tar"
    }
  }

  @Test("gives a remark if its index is damaged, is that of another archive, or needs too much memory")
  func unusable() throws {
    #expect(try compare(try tail { $0[30] ^= 1 }) == ArchiveReader.uncheckedRemark)
    #expect(try compare(try tail(), start: Self.start + 512) == ArchiveReader.uncheckedRemark)
    #expect(try compare(try tail(), memory: 4000) == StoredIndex.tooLarge.message)
    #expect(try compare(try tail(), memory: 4 * (try tail().count)) == StoredIndex.tooLarge.message)
  }

  @Test("gives a remark if the bytes after the index are damaged") func behindIndex() throws {
    let bytes = try tail()
    // The last letter of the mark, the zeros of the block, and those that fill the last block of the index.
    for place in [bytes.count - 505, bytes.count - 100, bytes.count - 513] {
      var bytes = bytes
      bytes[place] ^= 1
      #expect(try compare(bytes) == TailBlock.damagedRemark, "\(place)")
    }
  }

  @Test("is not compared if it consists of zeros") func zeros() throws {
    #expect(try compare([UInt8](repeating: 0, count: 7168), check: 5) == nil)
    #expect(try compare([], first: 0, check: 5) == nil)
  }
}
