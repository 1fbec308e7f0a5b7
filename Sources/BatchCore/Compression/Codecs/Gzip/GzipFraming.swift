import BatchEngine
import CZlib

/// Frames segments as one gzip member, RFC 1952.
struct GzipFraming: BlockFraming {
  private let level: Int
  private var check: UInt = 0
  private var plainCount: UInt64 = 0
  /// Nil if the header has none.
  private var table: GzipBlockTable?

  /// - Parameter table: the table, whose sizes ``patch`` writes into the header at the end.
  init(level: Int, table: GzipBlockTable? = nil) {
    self.level = level
    self.table = table
  }

  /// The size of the fields in all headers.
  private static let headerSize: UInt64 = 10

  func header() -> [UInt8] {
    // No name, no time; the compression effort as libdeflate encodes it; an unknown system.
    let effort: UInt8 = level < 2 ? 4 : level >= 8 ? 2 : 0
    return [0x1F, 0x8B, 0x08, table == nil ? 0 : 4, 0, 0, 0, 0, effort, 255] + (table?.field ?? [])
  }

  var patch: HeaderPatch? { table.map { HeaderPatch(offset: Self.headerSize, bytes: $0.field) } }

  mutating func append(_ block: CompressedBlock) {
    check = crc32_combine(check, UInt(block.check), block.plainCount)
    table?.append(block.bytes.count, at: plainCount)
    plainCount += UInt64(block.plainCount)
  }

  func trailer(plainCount: UInt64) -> [UInt8] {
    // An empty final block of fixed codes.
    var bytes: [UInt8] = [0x03, 0x00]
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: check))
    bytes.appendLittleEndian(UInt32(truncatingIfNeeded: plainCount))
    return bytes
  }
}
