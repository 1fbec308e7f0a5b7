import BatchEngine

/// Finds the index of a `.tar.lz4`: skippable frames, followed by one with their offset.
struct LZ4IndexLocator: IndexLocator {
  private static let locatorSize: UInt64 = 24

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64

  func locate() throws(BatchError) -> IndexPlace? {
    let index = SkippableIndex(file: file, size: size, memory: memory)
    guard let start = try toldStart() else { return try index.scan(for: "the frame that locates the index") }
    if let place = try index.place(of: frames(from: start)) { return place }
    if let place = try index.scan(for: "the frame that locates the index") { return place }
    return .damaged(from: try index.hasMark(at: start) ? start : nil)
  }

  /// The start of the index according to the last frame of the file.
  private func toldStart() throws(BatchError) -> UInt64? {
    guard size >= Self.locatorSize else { return nil }
    let last = try file.bytes(at: size - Self.locatorSize, count: Int(Self.locatorSize))
    var reader = LittleEndianReader(last[...])
    guard reader.number(UInt32.self) == ArchiveTail.locatorMagic, reader.number(UInt32.self) == 16,
      let start = reader.number(UInt64.self),
      reader.take(8)?.elementsEqual(ArchiveTail.locatorText) == true
    else { return nil }
    return start
  }

  /// The frames from an offset to the last one; empty if any is not skippable.
  private func frames(from start: UInt64) throws(BatchError) -> [Range<UInt64>] {
    let end = size - Self.locatorSize
    var frames = [Range<UInt64>]()
    var offset = start
    while offset < end {
      guard end - offset >= 8 else { return [] }
      var reader = LittleEndianReader(try file.bytes(at: offset, count: 8)[...])
      guard let magic = reader.number(UInt32.self), CompressionFormat.isSkippable(magic),
        let length = reader.number(UInt32.self)
      else { return [] }
      let next = offset + 8 + UInt64(length)
      guard SkippableIndex.holds(frames.count + 1, in: memory) else { throw StoredIndex.tooLarge }
      frames.append(offset..<next)
      offset = next
    }
    return offset == end ? frames : []
  }
}
