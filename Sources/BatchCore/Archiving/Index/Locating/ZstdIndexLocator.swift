import BatchEngine

/// Finds the index of a `.tar.zst`: skippable frames before a seek table in zstd's own seekable format.
struct ZstdIndexLocator: IndexLocator {
  private static let footerSize: UInt64 = 9
  private static let headerSize: UInt64 = 8
  /// Memory of a seek table entry for each of its bytes in the file.
  private static let expansion: UInt64 = 3

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64

  /// Compressed and plain size of each frame, and where the table begins.
  private typealias SeekTable = (entries: [(compressed: UInt64, plain: UInt64)], start: UInt64)

  func locate() throws(BatchError) -> IndexPlace? {
    let frames = SkippableTail(file: file, size: size, memory: memory)
    if let table = try seekTable(), let indexFrames = indexFrames(of: table),
      var place = try frames.place(of: indexFrames)
    {
      place.frameSizes = table.entries
      return place
    }
    return try frames.scan(for: "the seek table")
  }

  /// nil if the file does not end in a seek table that fits it.
  private func seekTable() throws(BatchError) -> SeekTable? {
    guard size >= Self.footerSize + Self.headerSize else { return nil }
    var footer = LittleEndianReader(
      try file.bytes(at: size - Self.footerSize, count: Int(Self.footerSize))[...])
    guard let count = footer.number(UInt32.self), let descriptor = footer.number(UInt8.self),
      footer.number(UInt32.self) == ArchiveTail.seekableMagic
    else { return nil }
    guard descriptor & 0x7F == 0 else { return nil }
    let entrySize: UInt64 = descriptor & 0x80 != 0 ? 12 : 8
    let payload = UInt64(count) * entrySize + Self.footerSize
    guard payload + Self.headerSize <= size else { return nil }
    guard payload * Self.expansion <= memory else { throw StoredIndex.tooLarge }
    let start = size - payload - Self.headerSize
    var reader = LittleEndianReader(try file.bytes(at: start, count: Int(size - start))[...])
    guard reader.number(UInt32.self) == ArchiveTail.seekTableMagic,
      reader.number(UInt32.self).map(UInt64.init) == payload
    else { return nil }
    var entries = [(compressed: UInt64, plain: UInt64)]()
    var end: UInt64 = 0
    for _ in 0..<count {
      guard let compressed = reader.number(UInt32.self), let plain = reader.number(UInt32.self) else {
        return nil
      }
      if entrySize == 12 { _ = reader.number(UInt32.self) }
      entries.append((UInt64(compressed), UInt64(plain)))
      end += UInt64(compressed)
    }
    return end == start ? (entries, start) : nil
  }

  /// The last frames without content, which contain the index.
  private func indexFrames(of table: SeekTable) -> [Range<UInt64>]? {
    var frames = [Range<UInt64>]()
    var end = table.start
    for entry in table.entries.reversed() {
      guard entry.plain == 0 else { break }
      guard entry.compressed <= end else { return nil }
      frames.append((end - entry.compressed)..<end)
      end -= entry.compressed
    }
    return frames.reversed()
  }
}
