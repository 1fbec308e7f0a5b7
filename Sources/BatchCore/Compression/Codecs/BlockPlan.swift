import BatchEngine

/// How a large file is cut into blocks that are compressed in parallel.
///
/// The cut depends only on the format and the level, so that the output is the same at every concurrency. Each codec defines
/// its block size, so that the result is at most 1 % larger than that of the stock tool.
package struct BlockPlan: Sendable, Hashable {
  package let format: CompressionFormat
  package let level: Int
  /// The size of the file in bytes; nil for a stream, whose size is unknown before its end.
  package let fileSize: UInt64?
  /// How many bytes of the file form one block; the last one may be shorter.
  package let blockSize: Int

  /// - Parameter level: one of the format's ``CompressionFormat/levels``, or nil for its default.
  /// - Throws: `.invalid` for another level, and for a format that is only read.
  package init(_ format: CompressionFormat, level: Int? = nil, fileSize: UInt64?) throws(BatchError) {
    self.format = format
    self.level = try format.checkedLevel(level)
    self.fileSize = fileSize
    blockSize = try format.codec.blockSize(level: self.level)
  }

  /// How many blocks the file has, nil for a stream. An empty file has none.
  package var blockCount: Int? {
    guard let fileSize else { return nil }
    let (whole, rest) = fileSize.quotientAndRemainder(dividingBy: UInt64(blockSize))
    return Int(clamping: rest == 0 ? whole : whole + 1)
  }

  /// The range of a block in the file; nil if the file has no such block or its size is unknown.
  package func range(ofBlock index: Int) -> Range<UInt64>? {
    guard let fileSize, let blockCount, (0..<blockCount).contains(index) else { return nil }
    let start = UInt64(index) * UInt64(blockSize)
    return start..<(start + min(fileSize - start, UInt64(blockSize)))
  }
}
