import BatchEngine

/// Finds the index of an uncompressed `.tar`: after the end of the archive, before the last block.
struct TarIndexLocator: IndexLocator {
  private static let endBlocks: UInt64 = 1024

  let file: ArchiveFile
  let size: UInt64

  func locate() throws(BatchError) -> IndexPlace? {
    guard size >= UInt64(TailBlock.size) else { return nil }
    let last = try file.bytes(at: size - UInt64(TailBlock.size), count: TailBlock.size)
    guard let block = TailBlock(last) else { return nil }
    guard let length = block.tailLength, length + Self.endBlocks <= size else { return .damaged() }
    let start = size - length
    // A program that appends to a tar overwrites the blocks that end it, and may leave everything after them.
    let end = try file.bytes(at: start - Self.endBlocks, count: Int(Self.endBlocks))
    var reader = LittleEndianReader(try file.bytes(at: start, count: 4)[...])
    guard end.allSatisfy({ $0 == 0 }), reader.number(UInt32.self) == ZstdCodec.magic else {
      return .damaged()
    }
    let indexEnd = start + block.indexLength
    let filler = try file.bytes(at: indexEnd, count: Int(size - indexEnd) - TailBlock.size)
    let isBlank = filler.allSatisfy { $0 == 0 }
    return IndexPlace(
      start: start, index: IndexExtent(of: file, [start..<indexEnd]),
      remarks: isBlank && last == block.bytes ? [] : [TailBlock.damagedRemark],
      lastBlock: isBlank ? last : nil)
  }
}
