import BatchEngine
import CZstd

/// The pages of an index: some are kept decoded, the others are decoded on demand.
struct IndexPages: Sendable {
  struct Entry: Sendable {
    let stored: Range<UInt64>
    let plainSize: UInt64
    let members: Range<Int>
    /// How many members of the pages before it have a digest.
    let firstDigest: Int
    /// The CRC-32 of its decoded bytes: decoding it again must give the bytes that were checked.
    let check: UInt32
    let kept: MemberPage?
  }

  let part: IndexPart
  let flags: MemberFlags
  private(set) var entries: [Entry] = []

  mutating func append(_ entry: Entry) { entries.append(entry) }

  /// The number of the page that a member is in.
  func number(ofMember member: Int) -> Int {
    var range = entries.indices
    while range.count > 1 {
      let middle = range.lowerBound + range.count / 2
      range =
        entries[middle].members.lowerBound > member ? range.lowerBound..<middle : middle..<range.upperBound
    }
    return range.lowerBound
  }

  func page(_ number: Int) throws(BatchError) -> MemberPage {
    let entry = entries[number]
    if let kept = entry.kept { return kept }
    let page = try decode(entry.stored, plainSize: entry.plainSize)
    guard page.check == entry.check else { throw StoredIndex.damaged }
    return page
  }

  /// - Throws: `malformed` for anything but a page.
  func decode(_ stored: Range<UInt64>, plainSize: UInt64) throws(BatchError) -> MemberPage {
    guard let plain = Self.decode(try part.bytes(stored), plainSize: plainSize),
      let page = MemberPage(plain, flags: flags)
    else { throw StoredIndex.damaged }
    return page
  }

  /// The decoded content of a zstd frame.
  ///
  /// - Returns: nil unless it is one frame that states and has this size.
  static func decode(_ frame: [UInt8], plainSize: UInt64) -> [UInt8]? {
    frame.withUnsafeBytes { raw in
      guard let size = Int(exactly: plainSize),
        ZSTD_getFrameContentSize(raw.baseAddress, raw.count) == plainSize,
        ZSTD_findFrameCompressedSize(raw.baseAddress, raw.count) == raw.count
      else { return nil }
      var isWhole = false
      let plain = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
        isWhole = ZSTD_decompress(buffer.baseAddress, size, raw.baseAddress, raw.count) == size
        count = isWhole ? size : 0
      }
      return isWhole ? plain : nil
    }
  }
}

/// Returns the members of an index in slices, from the first to the last. Keeps one page in addition to those that the index
/// keeps. It belongs to one thread.
struct IndexCursor {
  let index: MemberIndex
  private var last: (number: Int, page: MemberPage)?

  init(_ index: MemberIndex) {
    self.index = index
  }

  /// - Parameter numbers: the numbers of existing members.
  /// - Throws: the error of reading; `malformed` when the index has changed.
  mutating func slice(_ numbers: Range<Int>) throws(BatchError) -> IndexSlice {
    guard !numbers.isEmpty else { return IndexSlice(numbers: numbers, pages: [], checks: nil) }
    var pages = [(first: Int, page: MemberPage)]()
    var number = index.pages.number(ofMember: numbers.lowerBound)
    repeat {
      pages.append((index.pages.entries[number].members.lowerBound, try page(number)))
      number += 1
    } while number < index.pages.entries.count
      && index.pages.entries[number].members.lowerBound < numbers.upperBound
    return IndexSlice(numbers: numbers, pages: pages, checks: try checks(of: numbers, in: pages))
  }

  private mutating func page(_ number: Int) throws(BatchError) -> MemberPage {
    if let last, last.number == number { return last.page }
    let page = try index.pages.page(number)
    last = (number, page)
    return page
  }

  private func checks(
    of numbers: Range<Int>, in pages: [(first: Int, page: MemberPage)]
  ) throws(BatchError) -> IndexSlice.Checks? {
    guard let checks = index.checks, let start = pages.first else { return nil }
    let size = UInt64(IndexSlice.headerSize)
    let headers = try checks.bytes((UInt64(numbers.lowerBound) * size)..<(UInt64(numbers.upperBound) * size))
    var counts = [UInt32]()
    counts.reserveCapacity(numbers.count)
    var count: UInt32 = 0
    for (first, page) in pages {
      for number in max(first, numbers.lowerBound)..<min(first + page.count, numbers.upperBound) {
        counts.append(count)
        if page.flags(number - first).contains(.digest) { count += 1 }
      }
    }
    let entry = index.pages.entries[index.pages.number(ofMember: numbers.lowerBound)]
    let before = entry.firstDigest + start.page.digestCount(before: numbers.lowerBound - start.first)
    let place = UInt64(index.count) * size + UInt64(before) * UInt64(IndexSlice.digestSize)
    let digests = try checks.bytes(place..<(place + UInt64(count) * UInt64(IndexSlice.digestSize)))
    return IndexSlice.Checks(headers: headers, digests: digests, numbers: counts)
  }
}

extension MemberIndex {
  /// Calls `body` with each member and its number.
  ///
  /// - Throws: the reason, when the run is to stop; the error of reading.
  func forEachMember(
    _ cancellation: Cancellation, _ body: (Int, ArchivedMember) -> Void
  ) throws(BatchError) {
    var cursor = IndexCursor(self)
    for group in groups {
      try cancellation.check()
      let members = try cursor.slice(group.members)
      for number in group.members { body(number, members[number]) }
    }
  }
}
