import BatchEngine

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
