import BatchEngine

/// How a large file is cut into blocks that are compressed side by side.
///
/// The cut depends on the format, the level and nothing else, so that the output is the same at every
/// concurrency. Sizes are chosen so that the result is at most 1 % larger than the stock tool's:
///
/// | format | block | why |
/// |---|---|---|
/// | gz | 1 MiB | a block starts without the 32 KiB before it: 0.2 % larger |
/// | zst | 8 MiB, from level 6 on 16, 16: 32, 20: 128 | four windows, as `zstd -T` cuts its jobs |
/// | xz | three dictionaries, at least 4 MiB | as `xz -T` cuts |
/// | lz4 | 4 MiB | the largest block of a frame, and the stock tool's |
/// | bz2 | 8 MiB | nine of its own blocks and a part of one |
package struct BlockPlan: Sendable, Hashable {
  package let format: CompressionFormat
  package let level: Int
  /// The size of the file in bytes; nil for a stream, whose size nobody knows before its end.
  package let fileSize: UInt64?
  /// How many bytes of the file make one block; the last one may be shorter.
  package let blockSize: Int

  /// - Parameter level: one of the format's ``CompressionFormat/levels``, or nil for its default.
  /// - Throws: `.invalid` for another level.
  package init(_ format: CompressionFormat, level: Int? = nil, fileSize: UInt64?) throws(BatchError) {
    self.format = format
    self.level = try format.checkedLevel(level)
    self.fileSize = fileSize
    let mebibyte = 1 << 20
    blockSize =
      switch (format, self.level) {
      case (.gz, _): mebibyte
      case (.zst, ...5): 8 * mebibyte
      case (.zst, ...15): 16 * mebibyte
      case (.zst, ...19): 32 * mebibyte
      case (.zst, _): 128 * mebibyte
      case (.xz, let level): max(4 * mebibyte, 3 * XZContext.dictionarySize(level: level))
      case (.lz4, _): 4 * mebibyte
      case (.bz2, _): 8 * mebibyte
      case (.lz, _), (.lzma, _), (.lzw, _):
        throw BatchError(.invalid, "\(format.toolName) data is not made of blocks")
      }
  }

  /// How many blocks the file has, nil for a stream. An empty file has none.
  package var blockCount: Int? {
    guard let fileSize else { return nil }
    let (whole, rest) = fileSize.quotientAndRemainder(dividingBy: UInt64(blockSize))
    return Int(clamping: rest == 0 ? whole : whole + 1)
  }

  /// Where a block lies in the file, nil when the file has no such block or its size is not known.
  package func range(ofBlock index: Int) -> Range<UInt64>? {
    guard let fileSize, let blockCount, (0..<blockCount).contains(index) else { return nil }
    let start = UInt64(index) * UInt64(blockSize)
    return start..<(start + min(fileSize - start, UInt64(blockSize)))
  }
}
