import BatchEngine
import CLZMA
import CZstd

extension CompressionFormat {
  /// Bytes that one operation takes at most while it compresses: its codec context, and a block that is read, one that is
  /// compressed and one that waits.
  ///
  /// - Throws: `invalid` for a level that the format has not.
  package func memoryOfLane(level: Int?) throws(BatchError) -> Int {
    let block = try BlockPlan(self, level: level, fileSize: nil).blockSize
    return try contextMemory(level: checkedLevel(level)) + 3 * block
  }

  private func contextMemory(level: Int) -> Int {
    switch self {
    case .xz: Int(clamping: lzma_easy_encoder_memusage(UInt32(clamping: level)))
    case .zst:
      // Tables of the strategy, in proportion to its window: from 8 MiB at level 19 to 128 MiB at level 22.
      switch level {
      case ..<10: 16 << 20
      case ..<16: 48 << 20
      case ..<20: 112 << 20
      default: 800 << 20
      }
    case .gz, .lz4, .bz2, .lz, .lzma, .lzw: 12 << 20
    }
  }
}
