import BatchEngine

/// Finds the index of a `.tar.bz2`: in a separate stream, followed by a short one with its offset.
struct BZip2IndexLocator: IndexLocator {
  /// Larger than any stream with one block of zeros and a few numbers.
  private static let longestLocator: UInt64 = 1024

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64
  let right: ReadingRight

  func locate() throws(BatchError) -> IndexPlace? {
    let window = min(size, Self.longestLocator)
    let end = try file.bytes(at: size - window, count: Int(window))
    guard let start = Self.lastStream(in: end),
      let block = try IndexedArchive.decode(
        Array(end[start...]), of: .bz2, limit: 512, file.decoding, by: right),
      let told = Self.place(in: block)
    else { return nil }
    let locatorStart = size - window + UInt64(start)
    guard told.offset < locatorStart else { return .damaged() }
    // Memory for the stored and the decoded index.
    let (needed, isHuge) = told.length.addingReportingOverflow(locatorStart - told.offset)
    guard !isHuge, needed <= memory else { throw StoredIndex.tooLarge }
    let stream = try file.bytes(at: told.offset, count: Int(locatorStart - told.offset))
    guard
      let bytes = try IndexedArchive.decode(
        stream, of: .bz2, limit: told.length + 512, file.decoding, by: right),
      told.length <= UInt64(bytes.count)
    else { return .damaged(from: told.offset) }
    return IndexPlace(start: told.offset, index: IndexExtent(bytes[..<Int(told.length)]))
  }

  /// The start of the last stream. Streams begin at a byte boundary, but may end within a byte.
  private static func lastStream(in bytes: [UInt8]) -> Int? {
    bytes.indices.last { place in
      bytes[place...].starts(with: BZip2Codec.magic)
        && bytes[place...].dropFirst(4).starts(with: BZip2Codec.blockMagics[0])
    }
  }

  private static func place(in block: [UInt8]) -> (length: UInt64, offset: UInt64)? {
    var reader = LittleEndianReader(block[...])
    guard reader.take(ArchiveTail.locatorText.count)?.elementsEqual(ArchiveTail.locatorText) == true,
      let length = reader.number(UInt64.self), let offset = reader.number(UInt64.self)
    else { return nil }
    return (length, offset)
  }
}
