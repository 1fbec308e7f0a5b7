import BatchEngine
import CZstd

/// Reads a member index as ``MemberIndexBuilder`` stored it in an archive; see docs/formats.md.
///
/// Every page is decoded and checked before the index is used. The decoded pages of an archive with up to some hundred thousand
/// members are kept; those of a larger one are decoded again on demand, which takes less time than any work on a member.
struct StoredIndex {
  static let damaged = BatchError(.malformed, "the member index is damaged")
  private static let frameSize = 36
  private static let pageSize: UInt64 = 24
  private static let digestSize = 32
  /// Pages in memory at once: the one that is examined, those of members in progress, and their rows.
  private static let pagesAtOnce: UInt64 = 4
  /// The most bytes of decoded pages, and of each stored part, that are kept in memory.
  private static let mostKept: UInt64 = 8 << 20

  /// The limit in bytes.
  private let memory: UInt64
  private var needed: UInt64 = 0
  private var frames: [MemberIndex.Frame] = []
  private var groups: [MemberIndex.Group] = []
  private var pages: IndexPages
  private var last: (frame: Int, offset: UInt64) = (-1, 0)
  private var count = 0
  private var digestCount = 0
  private var memberBytes: UInt64 = 0
  /// The memory of the last group's pages.
  private var groupMemory: UInt64 = 0
  private var keptMemory: UInt64 = 0

  /// - Parameters:
  ///   - checks: whether digests and header checksums are needed; they are most of an index.
  ///   - size: the size of the archive; no frame may end after it.
  ///   - memory: memory for the index, in bytes.
  /// - Throws: `malformed` when it is damaged or contains impossible values; `exhausted` when it needs more memory.
  static func read(
    _ stored: IndexExtent, checks: Bool, size: UInt64, memory: Int
  ) throws(BatchError) -> MemberIndex {
    let trailerSize = UInt64(MemberIndex.trailerSize)
    guard stored.count > trailerSize else { throw damaged }
    let end = stored.count - trailerSize
    let trailer = try stored.bytes(end..<stored.count)
    var reader = LittleEndianReader(trailer[..<16])
    guard let pagesLength = reader.number(UInt64.self), let headLength = reader.number(UInt64.self),
      let digest = Digest(.sha256, bytes: trailer.dropFirst(16)),
      pagesLength <= end, headLength <= end - pagesLength
    else { throw damaged }
    let memory = UInt64(max(0, memory))
    let partLimit = min(memory / 4, mostKept)
    let stream = try DigestStream(.sha256)
    let part = try stored.part(0..<(pagesLength + headLength), stream, inMemoryUpTo: partLimit)
    try withBytes(of: trailer) { (raw) throws(BatchError) in
      try stream.update(UnsafeRawBufferPointer(rebasing: raw[..<16]))
    }
    guard try stream.finish() == digest else { throw damaged }
    var index = StoredIndex(part, memory: memory)
    let head = try index.readHead(pagesLength..<(pagesLength + headLength), size: size)
    var pages = head.pages
    if pages == nil { pages = try index.scannedPages(upTo: pagesLength) }
    for page in pages ?? [] { try index.add(page) }
    let checksStart = pagesLength + headLength
    let checksSize =
      UInt64(index.count) * UInt64(IndexSlice.headerSize) + UInt64(index.digestCount) * UInt64(digestSize)
    guard index.pages.entries.last?.stored.upperBound ?? 0 == pagesLength, head.count == UInt64(index.count),
      checksSize == end - checksStart
    else { throw damaged }
    var checksPart: IndexPart?
    if checks {
      stream.reset()
      checksPart = try stored.part(checksStart..<end, stream, inMemoryUpTo: partLimit)
      guard try stream.finish() == head.digestOfChecks else { throw damaged }
    }
    index.closeGroups()
    return MemberIndex(
      totalBytes: head.totalBytes, memberBytes: index.memberBytes, frames: index.frames, groups: index.groups,
      digest: digest, count: index.count, pages: index.pages, checks: checksPart)
  }

  private init(_ part: IndexPart, memory: UInt64) {
    self.memory = memory
    pages = IndexPages(part: part, flags: .all)
  }

  /// - Throws: `exhausted` if the memory is not enough.
  private mutating func reserve(_ bytes: UInt64) throws(BatchError) {
    needed += min(bytes, UInt64.max - needed)
    guard needed <= memory else { throw Self.tooLarge }
  }

  static let tooLarge = BatchError(
    .exhausted, "the member index needs more memory than may be used, and is left out",
    remedy: .raiseMemory)

  // MARK: The head

  private struct Head {
    let count: UInt64
    let totalBytes: UInt64
    let digestOfChecks: Digest
    /// Nil in version 3, which does not store page sizes.
    let pages: [Page]?
  }

  /// The facts about a page, stored or found.
  private struct Page {
    let stored: Range<UInt64>
    let plainSize: UInt64
    /// The numbers of members and digests; nil if not stored.
    let counts: (members: UInt32, digests: UInt32)?
  }

  private mutating func readHead(_ place: Range<UInt64>, size: UInt64) throws(BatchError) -> Head {
    try reserve(place.upperBound - place.lowerBound)
    let frame = try pages.part.bytes(place)
    let plainSize = ZSTD_getFrameContentSize(frame, frame.count)
    // The two largest values mean that the size is unknown, or that this is not a frame.
    guard plainSize < UInt64(bitPattern: -2) else { throw Self.damaged }
    // Once for the bytes, and once for the frames and pages that are made from them.
    try reserve(plainSize)
    try reserve(plainSize + plainSize / 2)
    guard let head = IndexPages.decode(frame, plainSize: plainSize), head.count > Self.digestSize,
      let digest = Digest(.sha256, bytes: head.suffix(Self.digestSize))
    else { throw Self.damaged }
    var reader = LittleEndianReader(head.dropLast(Self.digestSize))
    let magic = reader.take(MemberIndex.magic.count).map { Array($0) }
    let hasPages = magic == MemberIndex.magic
    guard hasPages || magic == MemberIndex.magicOfVersion3, let count = reader.number(UInt64.self),
      let totalBytes = reader.number(UInt64.self), let frameCount = reader.number(UInt64.self),
      let pageCount = hasPages ? reader.number(UInt64.self) : 0,
      frameCount <= UInt64(reader.rest / Self.frameSize)
    else { throw Self.damaged }
    try readFrames(Int(frameCount), from: &reader, size: size)
    guard UInt64(reader.rest).isMultiple(of: Self.pageSize), UInt64(reader.rest) / Self.pageSize == pageCount
    else { throw Self.damaged }
    if !hasPages { pages = IndexPages(part: pages.part, flags: .ofVersion3) }
    return Head(
      count: count, totalBytes: totalBytes, digestOfChecks: digest,
      pages: hasPages ? try Self.readPages(Int(pageCount), from: &reader, upTo: place.lowerBound) : nil)
  }

  private mutating func readFrames(
    _ count: Int, from reader: inout LittleEndianReader, size: UInt64
  ) throws(BatchError) {
    frames.reserveCapacity(count)
    var compressedEnd: UInt64 = 0
    var plainEnd: UInt64 = 0
    for _ in 0..<count {
      guard let offset = reader.number(UInt64.self), let length = reader.number(UInt64.self),
        let plainOffset = reader.number(UInt64.self), let plainLength = reader.number(UInt64.self),
        let check = reader.number(UInt32.self),
        offset == compressedEnd, plainOffset == plainEnd, length > 0, plainLength > 0
      else { throw Self.damaged }
      let (end, isFar) = offset.addingReportingOverflow(length)
      let (plain, isHuge) = plainOffset.addingReportingOverflow(plainLength)
      guard !isFar, !isHuge, end <= size else { throw Self.damaged }
      frames.append(MemberIndex.Frame(compressed: offset..<end, plain: plainOffset..<plain, check: check))
      compressedEnd = end
      plainEnd = plain
    }
  }

  private static func readPages(
    _ count: Int, from reader: inout LittleEndianReader, upTo end: UInt64
  ) throws(BatchError) -> [Page] {
    var pages = [Page]()
    pages.reserveCapacity(count)
    var start: UInt64 = 0
    for _ in 0..<count {
      guard let stored = reader.number(UInt64.self), let plain = reader.number(UInt64.self),
        let members = reader.number(UInt32.self), let digests = reader.number(UInt32.self),
        stored <= end - start
      else { throw damaged }
      pages.append(Page(stored: start..<(start + stored), plainSize: plain, counts: (members, digests)))
      start += stored
    }
    return pages
  }

  /// Finds the pages of version 3, whose sizes are only in their zstd frames.
  private mutating func scannedPages(upTo end: UInt64) throws(BatchError) -> [Page] {
    try reserve(end)
    let bytes = try pages.part.bytes(0..<end)
    var pages = [Page]()
    var position = 0
    while position < bytes.count {
      let found = bytes.withUnsafeBytes { raw in
        let rest = UnsafeRawBufferPointer(rebasing: raw[position...])
        return (
          ZSTD_findFrameCompressedSize(rest.baseAddress, rest.count),
          ZSTD_getFrameContentSize(rest.baseAddress, rest.count)
        )
      }
      guard ZSTD_isError(found.0) == 0, found.0 > 0, found.0 <= bytes.count - position else {
        throw Self.damaged
      }
      let stored = UInt64(position)..<UInt64(position + found.0)
      pages.append(Page(stored: stored, plainSize: found.1, counts: nil))
      position += found.0
    }
    return pages
  }

  // MARK: The pages

  private mutating func add(_ page: Page) throws(BatchError) {
    let (most, isHuge) = page.plainSize.multipliedReportingOverflow(by: Self.pagesAtOnce)
    guard !isHuge, most <= memory - needed else { throw Self.tooLarge }
    let plain = try pages.decode(page.stored, plainSize: page.plainSize)
    if let counts = page.counts {
      guard counts == (UInt32(plain.count), UInt32(plain.digestCount)) else { throw Self.damaged }
    }
    let size = UInt64(plain.memory)
    groupMemory += size
    for index in 0..<plain.count { try add(plain.row(index), size) }
    // The rest of the memory is needed while a group is read.
    guard groupMemory <= (memory - needed) / 2 else { throw Self.tooLarge }
    let keeps = keptMemory + size <= min((memory - needed - most) / 4, Self.mostKept)
    if keeps { keptMemory += size }
    pages.append(
      IndexPages.Entry(
        stored: page.stored, plainSize: page.plainSize, members: (count - plain.count)..<count,
        firstDigest: digestCount, check: plain.check, kept: keeps ? plain : nil))
    digestCount += plain.digestCount
  }

  private mutating func add(_ row: MemberPage.Row, _ pageMemory: UInt64) throws(BatchError) {
    guard frames.indices.contains(row.frame), row.offset < frames[row.frame].plainSize,
      (row.frame, row.offset) > last
    else { throw Self.damaged }
    // A frame before the first member could contain members that only other readers see.
    if count == 0, row.frame > 0 || row.offset > 0 { throw Self.damaged }
    last = (row.frame, row.offset)
    if row.offset == 0 {
      closeGroup(frame: row.frame)
      groups.append(MemberIndex.Group(frames: row.frame..<frames.count, members: count..<count))
      groupMemory = pageMemory
    }
    // Wraps, as in the writer: sparse files can have any size.
    if row.kind == .file { memberBytes &+= row.size }
    count += 1
  }

  private mutating func closeGroup(frame: Int) {
    guard let last = groups.popLast() else { return }
    groups.append(
      MemberIndex.Group(
        frames: last.frames.lowerBound..<max(frame, last.frames.lowerBound),
        members: last.members.lowerBound..<count))
  }

  private mutating func closeGroups() {
    if count == 0, !frames.isEmpty {
      groups.append(MemberIndex.Group(frames: 0..<frames.count, members: 0..<0))
    }
    closeGroup(frame: frames.count)
  }
}
