import BatchEngine

/// Joins blocks to one file: provides the bytes before the first, between, and after the last block.
///
/// Write ``header``, then for each block in order ``append(_:)`` it and write its bytes, then write the result of ``finish()``.
/// The file is
/// - gz: one member, see ``DeflateSegment``; a file has a ``GzipBlockTable`` in its header;
/// - zst: one frame for each block, with content size and checksum, so that any zstd reads it and lanes can decode it in
///   parallel;
/// - xz: one stream with one block for each, and its index;
/// - lz4: one frame of independent blocks, each with a checksum. The format's checksum of the whole content is left out,
///   because one thread would have to compute it over all bytes; the content size is stored if the plan knows it.
package final class BlockJoiner {
  package let plan: BlockPlan
  /// The first bytes of the file.
  package let header: [UInt8]
  /// How many bytes of the source are in the blocks so far.
  package private(set) var plainCount: UInt64 = 0
  private var blockCount = 0
  private var framing: any BlockFraming

  /// - Parameter canPatch: whether ``patch`` can be written later, which is impossible in a stream.
  /// - Throws: `.exhausted` when memory is missing.
  package init(_ plan: BlockPlan, canPatch: Bool = false) throws(BatchError) {
    self.plan = plan
    framing = try plan.format.codec.makeFraming(
      level: plan.level, contentSize: plan.fileSize, blockSize: plan.blockSize, canPatch: canPatch)
    header = try framing.header()
  }

  /// Adds the next block.
  ///
  /// - Throws: `.invalid` for a block out of order or after a short one.
  package func append(_ block: CompressedBlock) throws(BatchError) {
    guard block.index == blockCount, block.plainCount <= plan.blockSize,
      plainCount == UInt64(blockCount) * UInt64(plan.blockSize)
    else {
      throw BatchError(.invalid, "block \(block.index) is not the next one of its file")
    }
    try framing.append(block)
    blockCount += 1
    plainCount += UInt64(block.plainCount)
  }

  /// The last bytes of the file.
  ///
  /// - Throws: `.changed` when the blocks do not have the size of the plan: the file grew or shrank.
  package func finish() throws(BatchError) -> [UInt8] {
    if let size = plan.fileSize, size != plainCount {
      throw BatchError(.changed, "changed while it was read: \(plainCount) bytes instead of \(size)")
    }
    return try framing.trailer(plainCount: plainCount)
  }

  /// Bytes that replace a part of the header. Read after ``finish()``.
  var patch: HeaderPatch? { framing.patch }
}
