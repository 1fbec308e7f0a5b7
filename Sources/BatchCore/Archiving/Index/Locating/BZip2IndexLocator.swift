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
    guard let start = end.indices.last(where: { Self.startsStream(end[$0...]) }),
      let told = try place(in: end[start...])
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
    else { return try hasLocator(told, in: stream) ? .damaged() : .damaged(from: told.offset) }
    return IndexPlace(start: told.offset, index: IndexExtent(bytes[..<Int(told.length)]))
  }

  /// Whether the bytes contain the same locator: an archive that was joined with itself has its end twice.
  private func hasLocator(_ told: (length: UInt64, offset: UInt64), in bytes: [UInt8]) throws(BatchError)
    -> Bool
  {
    let starts = bytes.indices.filter { bytes[$0] == BZip2Codec.magic[0] && Self.startsStream(bytes[$0...]) }
    for (start, end) in zip(starts, starts.dropFirst() + [bytes.endIndex])
    where end - start <= Self.longestLocator {
      guard let found = try place(in: bytes[start..<end]) else { continue }
      if found == told { return true }
    }
    return false
  }

  /// Streams begin at a byte boundary, but may end within a byte.
  private static func startsStream(_ bytes: ArraySlice<UInt8>) -> Bool {
    bytes.starts(with: BZip2Codec.magic)
      && bytes.dropFirst(4).starts(with: BZip2Codec.blockMagics[0])
  }

  /// What a locator says; nil for other streams.
  private func place(in stream: ArraySlice<UInt8>) throws(BatchError) -> (length: UInt64, offset: UInt64)? {
    guard let block = try IndexedArchive.decode(Array(stream), of: .bz2, limit: 512, file.decoding, by: right)
    else {
      return nil
    }
    var reader = LittleEndianReader(block[...])
    guard reader.take(ArchiveTail.locatorText.count)?.elementsEqual(ArchiveTail.locatorText) == true,
      let length = reader.number(UInt64.self), let offset = reader.number(UInt64.self)
    else { return nil }
    return (length, offset)
  }
}
