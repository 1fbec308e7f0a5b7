import BatchEngine
import CLZMA

/// Tracks the parts of an xz stream by their lengths, .xz file format 1.1.0, without decoding.
///
/// liblzma has one error number for all damage. The offset where it stopped distinguishes a wrong check from data that cannot
/// be decoded: liblzma compares a check after its last byte, and compares nothing else there. The data of a block is a sequence
/// of LZMA2 chunks, with any filters.
struct XZLayout {
  private enum Part {
    case streamHeader, blockStart, blockHeader, chunkStart, chunkHeader, chunk, padding, check
    /// The index, which is not tracked further, or invalid data.
    case other
  }

  private static let streamHeaderSize = 12

  private var part = Part.streamHeader
  /// Bytes until the part ends.
  private var left = XZLayout.streamHeaderSize
  /// The kind of check in the stream header.
  private(set) var check = LZMA_CHECK_NONE
  private var checkSize = 0
  /// The last bytes of a header, as one number.
  private var number: UInt64 = 0
  private var control: UInt8 = 0
  /// Bytes of LZMA2 in the block; padding makes them a multiple of four.
  private var dataCount = 0
  /// Whether no byte has followed the check of a block yet.
  private(set) var isBehindCheck = false

  mutating func pass(_ bytes: UnsafeRawBufferPointer) {
    var position = 0
    while position < bytes.count, part != .other {
      isBehindCheck = false
      switch part {
      case .blockHeader, .chunk, .padding, .check, .other:
        let count = min(left, bytes.count - position)
        position += count
        left -= count
      case .streamHeader, .blockStart, .chunkStart, .chunkHeader:
        number = number << 8 | UInt64(bytes[position])
        position += 1
        left -= 1
      }
      if left == 0 { goOn() }
    }
  }

  private mutating func goOn() {
    switch part {
    case .streamHeader:
      // Four bytes of CRC-32 follow the flags.
      let flags = UInt32(truncatingIfNeeded: number >> 32) & 0xF
      check = lzma_check(rawValue: flags)
      checkSize = Int(lzma_check_size(check))
      begin(.blockStart, 1)
    case .blockStart:
      let size = Int(number & 0xFF)
      // A block with length 0 is the start of the index.
      size == 0 ? begin(.other, 0) : begin(.blockHeader, (size + 1) * 4 - 1)
    case .blockHeader:
      dataCount = 0
      begin(.chunkStart, 1)
    case .chunkStart: beginChunk()
    case .chunkHeader:
      // With new properties, one more byte follows the size.
      let size = Int((control >= 0xC0 ? number >> 8 : number) & 0xFFFF) + 1
      dataCount &+= size
      begin(.chunk, size)
    case .chunk: begin(.chunkStart, 1)
    case .padding: beginCheck()
    case .check:
      isBehindCheck = true
      begin(.blockStart, 1)
    case .other: break
    }
  }

  private mutating func beginChunk() {
    control = UInt8(truncatingIfNeeded: number)
    let headerSize: Int
    switch control {
    case 0:
      dataCount &+= 1
      let padding = (4 - dataCount & 3) & 3
      return padding == 0 ? beginCheck() : begin(.padding, padding)
    case 1, 2: headerSize = 2
    case 0x80...: headerSize = control >= 0xC0 ? 5 : 4
    default: return begin(.other, 0)
    }
    dataCount &+= 1 + headerSize
    begin(.chunkHeader, headerSize)
  }

  private mutating func beginCheck() {
    checkSize == 0 ? begin(.blockStart, 1) : begin(.check, checkSize)
  }

  private mutating func begin(_ part: Part, _ size: Int) {
    self.part = part
    left = size
  }
}
