import BatchEngine

/// A file whose content is in several members of archives: the newest ones have the blocks that changed, and the last one has the
/// whole file of an earlier time. Each block is taken from the newest member that has it.
struct JoinedFile: Sendable {
  struct Part: Sendable {
    let member: PathBytes
    let open: @Sendable () throws(BatchError) -> ArchiveFile
  }

  /// Without attributes.
  let entry: ArchiveEntry
  let place: RelativePath
  /// The SHA-256 of the file; nil if none is compared.
  let digest: Digest?
  /// Whether it has the attributes of the newest member.
  let hasAttributes: Bool
  /// From the newest to the oldest; not empty.
  let parts: [Part]
  /// Asks the system to read the archives of some parts, which are opened later.
  let readAhead: @Sendable (Range<Int>) -> Void
}

/// Reads the parts of a file.
struct JoinedPartReader {
  private let archive: IndexedArchive
  private let group: MemberIndex.Group
  private let members: IndexSlice
  private let number: Int
  let loader: FrameLoader

  /// - Parameter former: the loader of a part that was read before.
  /// - Throws: `malformed` if the archive does not have the member.
  init(
    _ part: JoinedFile.Part, memory: Int, after former: FrameLoader?, by right: ReadingRight
  ) throws(BatchError) {
    let open = try OpenArchive(try part.open(), checks: true, memory: memory, by: right)
    guard let archive = open.index else {
      throw open.unusedIndex ?? BatchError(.malformed, "it has no index", path: open.file.path)
    }
    var last: Int?
    try archive.index.forEachMember(archive.file.cancellation) { number, member in
      if member.path == part.member, member.kind == .file { last = number }
    }
    guard let number = last, let group = archive.index.groups.first(where: { $0.members.contains(number) })
    else {
      throw BatchError(
        .malformed, "the member \(part.member) that the manifest has is not in it", path: archive.file.path)
    }
    var cursor = IndexCursor(archive.index)
    (self.archive, self.group, self.number) = (archive, group, number)
    members = try cursor.slice(group.members)
    loader = try FrameLoader(archive.file, archive.format, after: former, by: right)
  }

  /// Reads the member.
  ///
  /// - Parameters:
  ///   - begin: receives its header.
  ///   - write: receives its data in order, with offsets in the file.
  func read(
    _ begin: (ArchiveEntry) throws(BatchError) -> Void,
    _ write: (UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void
  ) throws(BatchError) {
    var segment = SegmentReader(archive: archive, loader: loader)
    do throws(BatchError) {
      try segment.read(group, members, limits: ArchiveLimits()) {
        (number, _, entry, reader) throws(BatchError) in
        guard number == self.number else { return }
        try begin(entry)
        try reader.readContent { (piece, offset) throws(BatchError) in try write(piece, offset) }
      }
    } catch {
      guard error.code == .malformed || error.code == .unreadable else { throw error }
      throw BatchError(
        error.code,
        "lost: a part of it cannot be read from \(PathBytes(archive.file.path.lastComponent)): \(error.message)",
        errno: error.errno)
    }
  }
}

extension JoinedFile {
  /// The attributes of the newest member.
  func attributes(memory: Int, by right: ReadingRight) throws(BatchError) -> [ExtendedAttribute] {
    guard hasAttributes, let newest = parts.first else { return [] }
    var attributes = [ExtendedAttribute]()
    try JoinedPartReader(newest, memory: memory, after: nil, by: right).read(
      { attributes = $0.attributes }, { _, _ in })
    return attributes
  }

  /// How many archives are read ahead at once.
  private static let aheadCount = 8

  /// Passes each byte of the file once, in any order.
  func read(
    memory: Int, by right: ReadingRight, _ write: (UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void
  ) throws(BatchError) {
    var newer = ByteRanges()
    var loader: FrameLoader?
    let window = Self.aheadCount
    for (number, part) in parts.enumerated() {
      if number == 0 { readAhead(0..<min(window, parts.count)) }
      if number.isMultiple(of: window), number + window < parts.count {
        readAhead((number + window)..<min(number + 2 * window, parts.count))
      }
      var own = ByteRanges()
      let reader = try JoinedPartReader(part, memory: memory, after: loader, by: right)
      loader = reader.loader
      try reader.read { entry in
        for range in entry.dataMap ?? [0..<entry.size] { own.insert(range) }
      } _: { (piece, offset) throws(BatchError) in
        let end = min(offset + UInt64(piece.count), entry.size)
        guard offset < end else { return }
        for gap in newer.gaps(in: offset..<end) {
          let start = Int(gap.lowerBound - offset)
          try write(
            UnsafeRawBufferPointer(rebasing: piece[start..<(start + Int(gap.upperBound - gap.lowerBound))]),
            gap.lowerBound)
        }
      }
      newer.insert(own)
    }
  }
}

/// A set of bytes of a file, as sorted ranges that do not touch.
struct ByteRanges {
  private var ranges: [Range<UInt64>] = []

  mutating func insert(_ range: Range<UInt64>) {
    guard !range.isEmpty else { return }
    let first = index(endingFrom: range.lowerBound)
    var (start, end, last) = (range.lowerBound, range.upperBound, first)
    while last < ranges.count, ranges[last].lowerBound <= range.upperBound {
      (start, end) = (min(start, ranges[last].lowerBound), max(end, ranges[last].upperBound))
      last += 1
    }
    ranges.replaceSubrange(first..<last, with: [start..<end])
  }

  mutating func insert(_ other: ByteRanges) {
    for range in other.ranges { insert(range) }
  }

  /// The parts of a range that are not in the set.
  func gaps(in range: Range<UInt64>) -> [Range<UInt64>] {
    var gaps = [Range<UInt64>]()
    var position = range.lowerBound
    var place = index(endingFrom: range.lowerBound)
    while place < ranges.count, ranges[place].lowerBound < range.upperBound {
      if ranges[place].lowerBound > position { gaps.append(position..<ranges[place].lowerBound) }
      position = max(position, ranges[place].upperBound)
      place += 1
    }
    if position < range.upperBound { gaps.append(position..<range.upperBound) }
    return gaps
  }

  /// The first range that ends at an offset or later.
  private func index(endingFrom offset: UInt64) -> Int {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
