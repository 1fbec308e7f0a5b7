import BatchEngine

/// A member index in frames that zstd and lz4 decoders skip.
struct SkippableTail {
  private static let headerSize: UInt64 = 8

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the frames, in bytes.
  let memory: UInt64

  /// Whether the memory is enough for this many frames and the pieces of an index in them.
  static func holds(_ count: Int, in memory: UInt64) -> Bool { UInt64(count) <= memory / 128 }

  /// The index in these frames; nil if none of them belongs to an index.
  func place(of frames: some Sequence<Range<UInt64>>) throws(BatchError) -> IndexPlace? {
    var ours = [Range<UInt64>]()
    var origin: [UInt8]?
    for frame in frames {
      if try isOurs(frame) { ours.append(frame) } else if let found = try record(in: frame) { origin = found }
    }
    guard let start = ours.first?.lowerBound else { return nil }
    var place = IndexPlace(start: start, index: try payload(of: ours))
    place.origin = origin
    return place
  }

  /// The record of the original archive; empty if it is damaged, nil for another frame.
  private func record(in frame: Range<UInt64>) throws(BatchError) -> [UInt8]? {
    let length = Self.headerSize + UInt64(OriginRecord.mark.count)
    guard frame.upperBound - frame.lowerBound >= length else { return nil }
    let start = try file.bytes(at: frame.lowerBound, count: Int(length))
    var reader = LittleEndianReader(start[...])
    let hasMagic = reader.number(UInt32.self) == ArchiveTail.originMagic
    let hasMark = start.suffix(OriginRecord.mark.count).elementsEqual(OriginRecord.mark)
    // One of them may be damaged.
    guard hasMagic || hasMark else { return nil }
    let content = (frame.lowerBound + Self.headerSize)..<frame.upperBound
    guard hasMagic, reader.number(UInt32.self).map(UInt64.init) == UInt64(content.count),
      content.count == OriginRecord.size
    else { return [] }
    return try file.bytes(at: content.lowerBound, count: content.count)
  }

  /// Searches all frames for an index, when the end of the file does not locate it.
  ///
  /// - Parameter last: what should follow the index, for a remark.
  func scan(for last: String) throws(BatchError) -> IndexPlace? {
    var frames = [Range<UInt64>]()
    var lastContent: UInt64 = 0
    var offset: UInt64 = 0
    while offset < size, let frame = try frame(at: offset) {
      try file.cancellation.check()
      if frame.isSkippable {
        let range = offset..<frame.end
        var belongs = try isOurs(range)
        if !belongs { belongs = try record(in: range) != nil }
        if belongs { frames.append(range) }
        guard Self.holds(frames.count, in: memory) else { throw StoredIndex.tooLarge }
      } else {
        lastContent = offset
      }
      offset = frame.end
    }
    guard var place = try place(of: frames), let start = place.start else { return nil }
    // A second archive follows. Without the index, the archive is read to its end, where the bytes that follow are damage.
    guard lastContent < start else { return .damaged() }
    place.remarks = [offset == size ? "\(last) is damaged" : "the archive is damaged after the index"]
    return place
  }

  private func frame(at offset: UInt64) throws(BatchError) -> (end: UInt64, isSkippable: Bool)? {
    guard size - offset >= Self.headerSize else { return nil }
    var reader = LittleEndianReader(try file.bytes(at: offset, count: Int(Self.headerSize))[...])
    guard let magic = reader.number(UInt32.self), let length = reader.number(UInt32.self) else { return nil }
    if CompressionFormat.isSkippable(magic) {
      let end = offset + Self.headerSize + UInt64(length)
      return end <= size ? (end, true) : nil
    }
    let end: UInt64?
    if magic == LZ4Codec.magic {
      end = try LZ4FrameScanner(file: file, size: size).end(ofFrameAt: offset)
    } else {
      end = try ZstdFrameScanner(size: size).end(ofFrameAt: offset) { (offset, buffer) throws(BatchError) in
        try file.read(at: offset, into: buffer)
      }
    }
    return end.map { ($0, false) }
  }

  /// Whether a frame has the magic number of an index frame or its mark: one of them may be damaged.
  private func isOurs(_ frame: Range<UInt64>) throws(BatchError) -> Bool {
    var reader = LittleEndianReader(try file.bytes(at: frame.lowerBound, count: 4)[...])
    if reader.number(UInt32.self) == ArchiveTail.indexMagic { return true }
    return try hasMark(at: frame.lowerBound)
  }

  /// Whether the frame at this offset, skippable or not, has the mark of an index frame.
  func hasMark(at start: UInt64) throws(BatchError) -> Bool {
    let mark = ArchiveTail.indexHead.prefix(4)
    let length = Self.headerSize + UInt64(mark.count)
    guard start < size, size - start >= length else { return false }
    return try file.bytes(at: start, count: Int(length)).suffix(mark.count).elementsEqual(mark)
  }

  /// The slices of the index; nil if a frame contains something else.
  private func payload(of frames: [Range<UInt64>]) throws(BatchError) -> IndexExtent? {
    let head = ArchiveTail.indexHead
    let start = Self.headerSize + UInt64(head.count)
    var slices = [Range<UInt64>]()
    for frame in frames {
      let length = frame.upperBound - frame.lowerBound
      guard length >= start else { return nil }
      var reader = LittleEndianReader(try file.bytes(at: frame.lowerBound, count: Int(start))[...])
      guard reader.number(UInt32.self) == ArchiveTail.indexMagic,
        reader.number(UInt32.self).map(UInt64.init) == length - Self.headerSize,
        // An unknown version or flag may change the meaning of the slices.
        let found = reader.take(head.count), [head, ArchiveTail.indexHeadOfVersion3].contains(Array(found))
      else { return nil }
      slices.append((frame.lowerBound + start)..<frame.upperBound)
    }
    return IndexExtent(of: file, slices)
  }
}
