import BatchEngine

/// Finds the index of a `.tar.zst`: skippable frames before a seek table in zstd's own seekable format.
struct ZstdIndexLocator: IndexLocator {
  /// Memory of a seek table entry for each of its bytes in the file.
  private static let expansion: UInt64 = 3

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64

  func locate() throws(BatchError) -> IndexPlace? {
    let frames = SkippableTail(file: file, size: size, memory: memory)
    if let table = try seekTable(), let indexFrames = indexFrames(of: table.frames, until: table.start),
      var place = try frames.place(of: indexFrames)
    {
      place.frameSizes = table.frames.map { (UInt64($0.compressed), UInt64($0.plain)) }
      return place
    }
    return try frames.scan(for: "the seek table")
  }

  /// nil if the file does not end in a seek table that fits it.
  private func seekTable() throws(BatchError) -> (frames: [ZstdSeekTable.Frame], start: UInt64)? {
    try ZstdSeekTable.read(size: size, most: memory / Self.expansion, tooLarge: StoredIndex.tooLarge) {
      (range) throws(BatchError) in
      try file.bytes(at: range.lowerBound, count: range.count)
    }
  }

  /// The last frames without content, which contain the index.
  private func indexFrames(of table: [ZstdSeekTable.Frame], until start: UInt64) -> [Range<UInt64>]? {
    var frames = [Range<UInt64>]()
    var end = start
    for frame in table.reversed() {
      guard frame.plain == 0 else { break }
      guard frame.compressed <= end else { return nil }
      frames.append((end - UInt64(frame.compressed))..<end)
      end -= UInt64(frame.compressed)
    }
    return frames.reversed()
  }
}
