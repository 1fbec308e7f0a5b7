import BatchEngine

/// Finds the index of a `.tar.lz4`: skippable frames, followed by one with their offset.
struct LZ4IndexLocator: IndexLocator {
  private static let locatorSize: UInt64 = 24

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64

  func locate() throws(BatchError) -> IndexPlace? {
    let index = SkippableTail(file: file, size: size, memory: memory)
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
      guard SkippableTail.holds(frames.count + 1, in: memory) else { throw StoredIndex.tooLarge }
      frames.append(offset..<next)
      offset = next
    }
    return offset == end ? frames : []
  }
}

/// Finds the frames of an lz4 file from the headers of frames and blocks, LZ4 frame format 1.6.3.
struct LZ4FrameScanner {
  /// Magic number, flags, block descriptor and their checksum.
  private static let shortestHeader: UInt64 = 7
  private static let blockHeader: UInt64 = 4

  let file: ArchiveFile
  let size: UInt64

  /// nil if it is not a frame, or if it ends after the file.
  func end(ofFrameAt start: UInt64) throws(BatchError) -> UInt64? {
    guard start <= size, size - start >= Self.shortestHeader else { return nil }
    let flags = try file.bytes(at: start + 4, count: 1)[0]
    // The version.
    guard flags >> 6 == 1 else { return nil }
    let hasBlockChecks = flags & 1 << 4 != 0
    let hasSize = flags & 1 << 3 != 0
    let hasContentCheck = flags & 1 << 2 != 0
    let hasDictionary = flags & 1 != 0
    var offset = start + Self.shortestHeader + (hasSize ? 8 : 0) + (hasDictionary ? 4 : 0)
    while true {
      guard offset <= size, size - offset >= Self.blockHeader else { return nil }
      try file.cancellation.check()
      var reader = LittleEndianReader(try file.bytes(at: offset, count: Int(Self.blockHeader))[...])
      guard let block = reader.number(UInt32.self) else { return nil }
      offset += Self.blockHeader
      if block == LZ4FrameHeader.endMark { break }
      offset += UInt64(block & ~LZ4FrameHeader.isStored) + (hasBlockChecks ? 4 : 0)
    }
    let end = offset + (hasContentCheck ? 4 : 0)
    return end <= size ? end : nil
  }
}
