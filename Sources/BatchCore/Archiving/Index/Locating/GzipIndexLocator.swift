import BatchEngine

/// Finds the index of a `.tar.gz`: slices in the extra fields of empty members, followed by one with their offset.
struct GzipIndexLocator: IndexLocator {
  /// An extra field has no checksum, so it is recognized if most of its 64 bytes are as expected.
  private static let fewestEqual = 48
  /// The offsets of the field's name and content, after a header without options.
  private static let nameOffset = 12
  private static let contentOffset = 16
  /// Bytes that are read at once; more than any slice.
  private static let step: UInt64 = 1 << 20
  /// The least number of expected bytes among the 12 of header and name.
  private static let fewestEqualInHeader = 10

  let file: ArchiveFile
  let size: UInt64
  /// Memory for the search and the index, in bytes.
  let memory: UInt64

  func locate() throws(BatchError) -> IndexPlace? {
    let locatorSize = UInt64(ArchiveTail.gzipLocatorSize)
    guard size > locatorSize else { return nil }
    let end = size - locatorSize
    let last = try file.bytes(at: end, count: ArchiveTail.gzipLocatorSize)
    var reader = LittleEndianReader(last[Self.contentOffset...])
    guard let start = reader.number(UInt64.self) else { return nil }
    let expected = ArchiveTail.gzipLocator(start)
    guard zip(last, expected).count(where: ==) >= Self.fewestEqual else {
      return try endsInSlice() ? .damaged() : nil
    }
    guard start < end, try looksLikeSlice(at: start) else { return .damaged() }
    guard let slices = try slices(start..<end) else {
      return try contains(expected, start..<end) ? .damaged() : .damaged(from: start)
    }
    return IndexPlace(
      start: start, index: IndexExtent(of: file, slices),
      remarks: last == expected ? [] : ["the archive is damaged after the index"])
  }

  /// The contents of members that are only slices; nil if there are others.
  private func slices(_ range: Range<UInt64>) throws(BatchError) -> [Range<UInt64>]? {
    var slices = [Range<UInt64>]()
    var position = range.lowerBound
    while position < range.upperBound {
      let count = Int(min(Self.step, range.upperBound - position))
      let bytes = try file.bytes(at: position, count: count)
      var place = 0
      while let slice = Self.slice(in: bytes, at: place) {
        slices.append(
          (position + UInt64(slice.content.lowerBound))..<(position + UInt64(slice.content.upperBound)))
        place = slice.end
      }
      guard place > 0 else { return nil }
      guard SkippableTail.holds(slices.count, in: memory) else { throw StoredIndex.tooLarge }
      position += UInt64(place)
    }
    return slices
  }

  /// Whether a range has these bytes: an archive that was joined with itself has its end twice.
  private func contains(_ locator: [UInt8], _ range: Range<UInt64>) throws(BatchError) -> Bool {
    var position = range.lowerBound
    while position < range.upperBound {
      let length = min(Self.step + UInt64(locator.count), range.upperBound - position)
      let bytes = try file.bytes(at: position, count: Int(length))
      let starts = bytes.indices.lazy.filter { bytes[$0] == locator[0] }
      if starts.contains(where: { bytes[$0...].starts(with: locator) }) { return true }
      position += min(Self.step, range.upperBound - position)
    }
    return false
  }

  private static func slice(in bytes: [UInt8], at position: Int) -> (content: Range<Int>, end: Int)? {
    guard bytes.count - position >= contentOffset else { return nil }
    var reader = LittleEndianReader(bytes[(position + contentOffset - 2)...])
    guard let length = reader.number(UInt16.self), let content = reader.take(Int(length)) else { return nil }
    let member = ArchiveTail.gzipSlice(content)
    guard bytes[position...].starts(with: member) else { return nil }
    return (content.startIndex..<content.endIndex, position + member.count)
  }

  private func looksLikeSlice(at start: UInt64) throws(BatchError) -> Bool {
    let expected = ArchiveTail.gzipSlice([])
    let found = try file.bytes(at: start, count: Self.nameOffset + 2)
    let compared = Array(0..<10) + [Self.nameOffset, Self.nameOffset + 1]
    return compared.count { found[$0] == expected[$0] } >= Self.fewestEqualInHeader
  }

  /// Whether the file was truncated between two members of an index.
  private func endsInSlice() throws(BatchError) -> Bool {
    let largest = UInt64(ArchiveTail.largestGzipSlice + ArchiveTail.gzipSlice([]).count)
    let count = Int(min(largest, size))
    let bytes = try file.bytes(at: size - UInt64(count), count: count)
    return bytes.indices.contains { position in
      bytes[position] == 0x1F && Self.slice(in: bytes, at: position)?.end == bytes.count
    }
  }
}
