import BatchEngine
import CXXHash

/// The start of an lz4 frame of independent blocks, LZ4 frame format 1.6.3.
struct LZ4FrameHeader {
  /// Which bytes the frame's XXH32 checksums cover.
  enum Check {
    /// One checksum of the whole content, after the last block.
    case content
    /// One after each block, of its compressed bytes.
    case blocks
  }

  static let largestBlock = 4 << 20
  static let endMark: UInt32 = 0
  /// Set in the length of a block that is not compressed.
  static let isStored: UInt32 = 0x8000_0000

  /// Nil when the frame does not store it.
  let contentSize: UInt64?
  let check: Check

  var bytes: [UInt8] {
    let version: UInt8 = 1 << 6
    let independent: UInt8 = 1 << 5
    let hasSize: UInt8 = contentSize == nil ? 0 : 1 << 3
    let checked: UInt8 = check == .blocks ? 1 << 4 : 1 << 2
    var descriptor = [version | independent | hasSize | checked, sizeClass << 4]
    if let contentSize { descriptor.appendLittleEndian(contentSize) }
    let hash = XXH32(descriptor, descriptor.count, 0)
    var bytes: [UInt8] = []
    bytes.appendLittleEndian(LZ4Codec.magic)
    return bytes + descriptor + [UInt8(truncatingIfNeeded: hash >> 8)]
  }

  /// 64 KiB, 256 KiB, 1 MiB or 4 MiB: the smallest that fits all content, because readers allocate that much memory.
  private var sizeClass: UInt8 {
    guard let contentSize else { return 7 }
    return (4...6).first { contentSize <= 1 << (8 + 2 * UInt64($0)) } ?? 7
  }
}
