import BatchEngine

/// Finds the frames of a zstd file from the headers of frames and blocks, RFC 8878.
struct ZstdFrameScanner {
  /// A limit, because very short frames could take more memory than the file takes on the disk.
  private static let mostFrames = 1 << 16

  let size: UInt64

  /// - Returns: one part for each frame, nil when a frame does not store its content's size or is damaged, and when there are
  ///   too many frames.
  func parts(_ read: PartReader) throws(BatchError) -> [CompressedPart]? {
    var parts: [CompressedPart] = []
    var offset: UInt64 = 0
    var plain: UInt64 = 0
    while offset < size {
      guard parts.count < Self.mostFrames else { return nil }
      guard let frame = try frame(at: offset, read) else { return nil }
      let (end, isHuge) = plain.addingReportingOverflow(frame.content)
      guard !isHuge else { return nil }
      parts.append(CompressedPart(compressed: offset..<frame.end, plain: plain..<end))
      offset = frame.end
      plain = end
    }
    return parts
  }

  /// The end of a frame with content; nil if it is not one, or is damaged.
  func end(ofFrameAt offset: UInt64, _ read: PartReader) throws(BatchError) -> UInt64? {
    try frame(at: offset, read, needsContentSize: false)?.end
  }

  private func frame(
    at offset: UInt64, _ read: PartReader, needsContentSize: Bool = true
  ) throws(BatchError) -> (end: UInt64, content: UInt64)? {
    let start = try bytes(ZstdFrameHeader.longest, at: offset, read)
    guard start.count >= 8 else { return nil }
    let magic = number(start[..<4])
    if CompressionFormat.isSkippable(UInt32(magic)) {
      return checked(offset + 8 + number(start[4..<8])).map { ($0, 0) }
    }
    guard magic == UInt64(ZstdCodec.magic),
      let header = ZstdFrameHeader(start), let content = header.contentSize ?? (needsContentSize ? nil : 0)
    else { return nil }
    var offset = offset + UInt64(header.length)
    while true {
      let start = try bytes(3, at: offset, read)
      guard start.count == 3 else { return nil }
      let block = number(start[...])
      let length: UInt64
      switch block >> 1 & 3 {
      case 0: length = block >> 3
      case 2 where block >> 3 > 0: length = block >> 3
      case 1: length = 1
      default: return nil
      }
      guard let end = checked(offset + 3 + length) else { return nil }
      offset = end
      if block & 1 == 1 { break }
    }
    return checked(offset + (header.hasChecksum ? 4 : 0)).map { ($0, content) }
  }

  private func checked(_ end: UInt64) -> UInt64? { end <= size ? end : nil }

  private func bytes(
    _ count: Int, at offset: UInt64, _ read: PartReader
  ) throws(BatchError) -> [UInt8] {
    try [UInt8](upTo: count) { (room) throws(BatchError) in try read(offset, room) }
  }
}

/// A little-endian number of at most eight bytes.
private func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
  bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
}
