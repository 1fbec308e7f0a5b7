import BatchEngine
import CZlib

/// One gzip member of segments, RFC 1952.
struct GzipFraming: BlockFraming {
  private let level: Int
  private var check: UInt = 0

  init(level: Int) {
    self.level = level
  }

  func header() -> [UInt8] {
    // No flags, no time; how hard was compressed, as libdeflate says it; an unknown system.
    let effort: UInt8 = level < 2 ? 4 : level >= 8 ? 2 : 0
    return [0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, effort, 255]
  }

  mutating func append(_ block: CompressedBlock) {
    check = crc32_combine(check, UInt(block.check), block.plainCount)
  }

  func trailer(plainCount: UInt64) -> [UInt8] {
    // A final block of fixed codes with nothing but its end.
    var bytes: [UInt8] = [0x03, 0x00]
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: check))
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: plainCount))
    return bytes
  }
}
