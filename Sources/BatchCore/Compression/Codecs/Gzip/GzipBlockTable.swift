import BatchEngine
import CZlib

/// The table of blocks in our large .gz files: a subfield of the extra field in the header, RFC 1952.
///
/// Several lanes can inflate such a file. Other programs skip the subfield. After its name and length, little-endian:
///
/// | bytes | what |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | binary logarithm of the bytes of content of a group of blocks; the last group may have fewer |
/// | 8 | bytes of content of the file |
/// | 4 for each group | its bytes in the file |
///
/// The table is not trusted. A group is inflated without the data before it, and must end where the next one begins, at the
/// header of a block: then sequential decoding would reach the same place.
struct GzipBlockTable {
  /// The rest of 64 KiB is enough for another subfield.
  static let mostGroups = 15_000
  private static let name: [UInt8] = [UInt8(ascii: "b"), UInt8(ascii: "p")]
  private static let version: UInt8 = 1
  /// The bytes before the first subfield, including the length of the extra field.
  private static let fixedHeader = 12
  private static let fixedFields = 10
  /// The empty last block, the CRC-32 and the length.
  private static let end: [UInt8] = [3, 0]
  private static let trailerSize = 10
  private static let largestLog: UInt8 = 40

  private let log: UInt8
  private let plainSize: UInt64
  private var sizes: [UInt32] = []

  // MARK: Writing

  /// - Parameters:
  ///   - plainSize: the size of the file.
  ///   - blockSize: a power of two.
  init(plainSize: UInt64, blockSize: Int) {
    self.plainSize = plainSize
    var log = UInt8(blockSize.trailingZeroBitCount)
    while Self.groupCount(plainSize, log) > Self.mostGroups { log += 1 }
    self.log = log
  }

  private static func groupCount(_ plainSize: UInt64, _ log: UInt8) -> UInt64 {
    plainSize >> log + (plainSize & (1 << log - 1) == 0 ? 0 : 1)
  }

  /// Adds the next block.
  ///
  /// - Parameter start: the offset of its content in the file.
  mutating func append(_ count: Int, at start: UInt64) {
    if start & (1 << log - 1) == 0 { sizes.append(0) }
    guard let last = sizes.indices.last else { return }
    // Incompressible data grows only slightly, so a group has less than 4 GiB.
    sizes[last] &+= UInt32(truncatingIfNeeded: count)
  }

  /// What follows the fixed fields of the header; the sizes are zero until all are known.
  var field: [UInt8] {
    let count = Int(clamping: Self.groupCount(plainSize, log))
    var bytes: [UInt8] = []
    let length = UInt16(Self.fixedFields + 4 * count)
    bytes.appendLittleEndian(length + 4)
    bytes += Self.name
    bytes.appendLittleEndian(length)
    bytes += [Self.version, log]
    bytes.appendLittleEndian(plainSize)
    for index in 0..<count { bytes.appendLittleEndian(index < sizes.count ? sizes[index] : 0) }
    return bytes
  }

  // MARK: Reading

  /// - Parameter size: the size of the file.
  /// - Returns: nil if the file has no table, the table has only one group, or its sizes do not match the file.
  /// - Throws: the error of `read`.
  static func read(size: UInt64, _ read: PartReader) throws(BatchError) -> CompressedParts? {
    var start = [UInt8](repeating: 0, count: fixedHeader)
    // The header must have an extra field and no other option.
    guard size > UInt64(fixedHeader + trailerSize), try fill(&start, at: 0, read),
      start.prefix(4) == [0x1F, 0x8B, 8, 4]
    else { return nil }
    let extra = Int(start[...].little(at: 10) as UInt16)
    var field = [UInt8](repeating: 0, count: extra)
    var end = [UInt8](repeating: 0, count: trailerSize)
    let first = UInt64(fixedHeader + extra)
    guard size > first + UInt64(trailerSize), try fill(&field, at: UInt64(fixedHeader), read),
      try fill(&end, at: size - UInt64(trailerSize), read), Array(end.prefix(2)) == self.end,
      let content = content(of: field)
    else { return nil }
    return parts(content, from: first, to: size - UInt64(trailerSize), end)
  }

  private static func fill(
    _ bytes: inout [UInt8], at offset: UInt64, _ read: PartReader
  ) throws(BatchError) -> Bool {
    try withMutableBytes(of: &bytes) { (raw) throws(BatchError) in try read(offset, raw) == raw.count }
  }

  /// The table among the subfields.
  private static func content(of field: [UInt8]) -> ArraySlice<UInt8>? {
    var rest = field[...]
    while rest.count >= 4 {
      let length = Int(rest.little(at: 2) as UInt16)
      let content = rest.dropFirst(4)
      guard content.count >= length else { return nil }
      if Array(rest.prefix(2)) == name { return content.prefix(length) }
      rest = content.dropFirst(length)
    }
    return nil
  }

  private static func parts(
    _ table: ArraySlice<UInt8>, from start: UInt64, to end: UInt64, _ trailer: [UInt8]
  ) -> CompressedParts? {
    guard table.count > fixedFields, table[table.startIndex] == version else { return nil }
    let log = table[table.startIndex + 1]
    let plainSize: UInt64 = table.little(at: 2)
    let sizes = table.dropFirst(fixedFields)
    guard (10...largestLog).contains(log), sizes.count.isMultiple(of: 4),
      groupCount(plainSize, log) == sizes.count / 4,
      trailer[...].little(at: 6) == UInt32(truncatingIfNeeded: plainSize)
    else { return nil }
    var parts: [CompressedPart] = []
    var (place, plain) = (start, UInt64(0))
    for index in 0..<(sizes.count / 4) {
      let size = UInt64(sizes.little(at: 4 * index) as UInt32)
      let next = place + size
      let nextPlain = plain + min(plainSize - plain, 1 << log)
      // DEFLATE expands one byte to at most 1,032.
      guard size > 0, next <= end, (nextPlain - plain) / 1032 <= size else { return nil }
      parts.append(CompressedPart(compressed: place..<next, plain: plain..<nextPlain))
      (place, plain) = (next, nextPlain)
    }
    guard place == end, parts.count > 1 else { return nil }
    return CompressedParts(parts: parts, check: trailer[...].little(at: 2))
  }

  /// The CRC-32 of two consecutive contents.
  static func join(_ check: UInt32, _ next: UInt32, count: Int) -> UInt32 {
    UInt32(truncatingIfNeeded: crc32_combine(UInt(check), UInt(next), count))
  }
}
