/// Finds the index of a `.tar.lz4`: skippable frames before one that tells where they begin.
struct LZ4IndexLocator: IndexLocator {
  private static let locatorSize: UInt64 = 24

  let file: ArchiveFile
  let size: UInt64

  func locate() throws(BatchError) -> IndexPlace? {
    let frames = SkippableIndex(file: file, size: size)
    if let indexFrames = try indexFrames(), let place = try frames.place(of: indexFrames) { return place }
    return try frames.scan(for: "what tells where the index is")
  }

  /// The frames that lie between the place that the last one tells and itself.
  private func indexFrames() throws(BatchError) -> [Range<UInt64>]? {
    guard size >= Self.locatorSize else { return nil }
    let end = size - Self.locatorSize
    var reader = LittleEndianReader(try file.bytes(at: end, count: Int(Self.locatorSize))[...])
    guard reader.number(UInt32.self) == ArchiveTail.locatorMagic, reader.number(UInt32.self) == 16,
      let start = reader.number(UInt64.self),
      reader.take(8)?.elementsEqual(ArchiveTail.locatorText) == true
    else { return nil }
    var frames = [Range<UInt64>]()
    var offset = start
    while offset < end {
      guard end - offset >= 8 else { return nil }
      var reader = LittleEndianReader(try file.bytes(at: offset, count: 8)[...])
      guard let magic = reader.number(UInt32.self), CompressionFormat.isSkippable(magic),
        let length = reader.number(UInt32.self)
      else { return nil }
      let next = offset + 8 + UInt64(length)
      frames.append(offset..<next)
      offset = next
    }
    return offset == end ? frames : nil
  }
}
