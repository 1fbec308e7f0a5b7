/// Finds the index of a `.tar.bz2`: in a stream of its own, before a short one that tells where it begins.
struct BZip2IndexLocator {
  /// Larger than any stream of one block of zeros with a few numbers in it.
  private static let longestLocator: UInt64 = 1024
  private static let damaged = BatchError(.malformed, "the member index is damaged")

  let file: ArchiveFile
  let size: UInt64

  func find() throws(BatchError) -> IndexedArchive.Finding {
    let window = min(size, Self.longestLocator)
    let end = try file.bytes(at: size - window, count: Int(window))
    guard let start = Self.lastStream(in: end), let block = try decoded(Array(end[start...]), limit: 512),
      let place = Self.place(in: block)
    else { return .none }
    let locatorStart = size - window + UInt64(start)
    guard place.offset < locatorStart, locatorStart - place.offset <= 1 << 31 else {
      return .damaged(Self.damaged)
    }
    do throws(BatchError) {
      let stream = try file.bytes(at: place.offset, count: Int(locatorStart - place.offset))
      guard let bytes = try decoded(stream, limit: place.length + 512), place.length <= UInt64(bytes.count)
      else {
        throw Self.damaged
      }
      let index = try IndexedArchive.decode(Array(bytes[..<Int(place.length)]), size: size)
      return .found(
        IndexedArchive(file: file, format: .bz2, index: index, indexStart: place.offset), remarks: [])
    } catch {
      if error.code != .malformed { throw error }
      return .damaged(error)
    }
  }

  /// Where the last stream begins; streams begin on a byte, and end in less than one.
  private static func lastStream(in bytes: [UInt8]) -> Int? {
    let start = Array("BZh".utf8)
    return bytes.indices.last { place in
      bytes[place...].starts(with: start)
        && bytes[place...].dropFirst(4).starts(with: CompressionFormat.bzip2Magics[0])
    }
  }

  private static func place(in block: [UInt8]) -> (length: UInt64, offset: UInt64)? {
    var reader = LittleEndianReader(block[...])
    guard reader.take(ArchiveTail.locatorText.count)?.elementsEqual(ArchiveTail.locatorText) == true,
      let length = reader.number(UInt64.self), let offset = reader.number(UInt64.self), length <= 1 << 31
    else { return nil }
    return (length, offset)
  }

  /// - Returns: nil for what is damaged, or has more content than it should.
  private func decoded(_ stream: [UInt8], limit: UInt64) throws(BatchError) -> [UInt8]? {
    let decoder = try CompressionFormat.bz2.makeDecoder(DecoderOptions(maximumOutput: limit))
    var bytes = [UInt8]()
    let damage = try withBytes(of: stream) { (raw) throws(BatchError) in
      try FileDecoder.damage { () throws(DecodingError) in
        try decoder.decode(raw) { (piece) throws(BatchError) in bytes.append(contentsOf: piece) }
        try decoder.finish()
      }
    }
    return damage == nil ? bytes : nil
  }
}
