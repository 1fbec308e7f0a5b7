/// The index at the end of our archives: where each member is, and the digest of its content.
///
/// It is used only when its own digest is right, and even then every number in it is held against the file.
struct MemberIndex: Sendable {
  /// A range of the file that can be decoded by itself.
  struct Frame: Sendable, Hashable {
    let compressed: Range<UInt64>
    /// Where its content lies in the whole archive.
    let plain: Range<UInt64>
    /// The CRC-32 of what stands in the file.
    let check: UInt32

    var plainSize: UInt64 { plain.upperBound - plain.lowerBound }
    var compressedSize: UInt64 { compressed.upperBound - compressed.lowerBound }
  }

  struct Member: Sendable {
    let path: PathBytes
    let kind: ArchiveEntry.Kind
    let size: UInt64
    let modified: FileStatus.Time
    /// The number of the frame in which it begins.
    let frame: Int
    /// Where its first header begins in the content of that frame.
    let offset: UInt64
    /// Nil where the checks were not asked for.
    let header: HeaderCheck?
    /// Nil for what has none, and where the checks were not asked for.
    let digest: Digest?

    /// Whether the archive itself says the same.
    func agrees(with entry: ArchiveEntry) -> Bool {
      path == entry.path && kind == entry.kind && modified == entry.modified
        && (size == entry.size || kind != .file)
    }
  }

  /// Frames that together hold whole members.
  struct Group: Sendable {
    let frames: Range<Int>
    let members: Range<Int>
  }

  static let magic = Array("BPIDX003".utf8)
  /// Of the numbers behind all that is stored of an index, and its digest.
  static let trailerSize = 48
  private static let digestSize = 32
  private static let frameSize = 36

  /// Bytes of all files together.
  let totalBytes: UInt64
  let frames: [Frame]
  let groups: [Group]
  /// Of the whole index, as it stands at its end; it holds for the digests of the members too.
  let digest: Digest
  let count: Int
  private let pages: [MemberPage]
  private let digestCount: Int
  private let digestOfChecks: Digest
  private var checks: Checks?

  private struct Checks {
    /// Of all members the CRC-32 of their headers, then the digests.
    let bytes: [UInt8]
    /// Of each member, how many before it have a digest.
    let numbers: [UInt32]
  }

  /// The length of what ``with(checks:)`` takes, in bytes.
  var checksSize: UInt64 { UInt64(digestStart) + UInt64(digestCount) * UInt64(Self.digestSize) }

  private var digestStart: Int { count * MemoryLayout<UInt32>.size }

  /// - Parameters:
  ///   - head: as ``MemberIndexBuilder`` has it.
  ///   - digest: the one that both were found to have.
  ///   - size: of the archive, which no frame may go beyond.
  /// - Throws: `malformed` for an index that claims what cannot be.
  init(head: [UInt8], pages: [MemberPage], digest: Digest, size: UInt64) throws(BatchError) {
    let end = head.count - Self.digestSize
    guard end > 0, let digestOfChecks = Digest(.sha256, bytes: head[end...]) else { throw Self.damaged }
    var reader = LittleEndianReader(head[..<end])
    let count = pages.reduce(0) { $0 + $1.count }
    guard reader.take(Self.magic.count)?.elementsEqual(Self.magic) == true,
      let memberCount = reader.number(UInt64.self), let totalBytes = reader.number(UInt64.self),
      let frameCount = reader.number(UInt64.self), frameCount <= UInt64(reader.rest / Self.frameSize),
      memberCount == UInt64(count), pages.dropLast().allSatisfy({ $0.count == MemberPage.length })
    else { throw Self.damaged }
    frames = try Self.frames(Int(frameCount), from: &reader, size: size)
    guard reader.rest == 0 else { throw Self.damaged }
    var groups = [Group]()
    var last: (frame: Int, offset: UInt64) = (-1, 0)
    var digestCount = 0
    var number = 0
    for page in pages {
      for index in 0..<page.count {
        let row = page.row(index)
        guard frames.indices.contains(row.frame), row.offset < frames[row.frame].plainSize,
          (row.frame, row.offset) > last
        else { throw Self.damaged }
        if row.hasDigest { digestCount += 1 }
        last = (row.frame, row.offset)
        if row.offset == 0 {
          Self.close(&groups, frame: row.frame, member: number)
          groups.append(Group(frames: row.frame..<frames.count, members: number..<number))
        }
        // A frame before the first member would hold members that only other readers see.
        if number == 0, row.frame > 0 || row.offset > 0 { throw Self.damaged }
        number += 1
      }
    }
    if count == 0, !frames.isEmpty { groups.append(Group(frames: 0..<frames.count, members: 0..<0)) }
    Self.close(&groups, frame: frames.count, member: count)
    self.totalBytes = totalBytes
    self.digest = digest
    self.count = count
    self.pages = pages
    self.digestCount = digestCount
    self.digestOfChecks = digestOfChecks
    self.groups = groups
  }

  /// The same with the checks of its members.
  ///
  /// - Throws: `malformed` when they are damaged.
  func with(checks: [UInt8]) throws(BatchError) -> MemberIndex {
    let found = try withBytes(of: checks) { (raw) throws(BatchError) in
      try DigestStream(.sha256).digest(of: raw)
    }
    guard UInt64(checks.count) == checksSize, found == digestOfChecks else { throw Self.damaged }
    var numbers = [UInt32]()
    numbers.reserveCapacity(count)
    var number: UInt32 = 0
    for page in pages {
      for index in 0..<page.count {
        numbers.append(number)
        if page.row(index).hasDigest { number += 1 }
      }
    }
    var index = self
    index.checks = Checks(bytes: checks, numbers: numbers)
    return index
  }

  subscript(index: Int) -> Member {
    let page = pages[index / MemberPage.length]
    let row = page.row(index % MemberPage.length)
    var digest: Digest?
    var header: HeaderCheck?
    if let checks {
      var reader = LittleEndianReader(checks.bytes[(index * MemoryLayout<UInt32>.size)...])
      header = HeaderCheck(size: row.headerSize, check: reader.number() ?? 0)
      if row.hasDigest {
        let start = digestStart + Int(checks.numbers[index]) * Self.digestSize
        digest = Digest(.sha256, bytes: checks.bytes[start..<(start + Self.digestSize)])
      }
    }
    return Member(
      path: page.path(index % MemberPage.length), kind: row.kind, size: row.size, modified: row.modified,
      frame: row.frame, offset: row.offset, header: header, digest: digest)
  }

  /// Where the members of a group lie in its content: from each one's first header to the next one's.
  func place(of index: Int, in group: Group) -> Range<UInt64> {
    let base = frames[group.frames.lowerBound].plain.lowerBound
    func start(_ index: Int) -> UInt64 {
      let row = pages[index / MemberPage.length].row(index % MemberPage.length)
      return frames[row.frame].plain.lowerBound - base + row.offset
    }
    let end = frames[group.frames.upperBound - 1].plain.upperBound - base
    return start(index)..<(index + 1 < group.members.upperBound ? start(index + 1) : end)
  }

  /// What a group weighs for the planner; an index may claim more than can be added up.
  func weight(of group: Group) -> Int64 {
    guard let first = group.frames.first, let last = group.frames.last else { return 0 }
    return Int64(min(frames[last].plain.upperBound - frames[first].plain.lowerBound, 1 << 40))
  }

  // MARK: Reading

  private static let damaged = BatchError(.malformed, "the member index is damaged")

  private static func close(_ groups: inout [Group], frame: Int, member: Int) {
    guard let last = groups.popLast() else { return }
    groups.append(
      Group(
        frames: last.frames.lowerBound..<max(frame, last.frames.lowerBound),
        members: last.members.lowerBound..<member))
  }

  private static func frames(
    _ count: Int, from reader: inout LittleEndianReader, size: UInt64
  ) throws(BatchError) -> [Frame] {
    var frames = [Frame]()
    frames.reserveCapacity(count)
    var compressedEnd: UInt64 = 0
    var plainEnd: UInt64 = 0
    for _ in 0..<count {
      guard let offset = reader.number(UInt64.self), let length = reader.number(UInt64.self),
        let plainOffset = reader.number(UInt64.self), let plainLength = reader.number(UInt64.self),
        let check = reader.number(UInt32.self),
        offset == compressedEnd, plainOffset == plainEnd, length > 0, plainLength > 0
      else { throw damaged }
      let (end, isFar) = offset.addingReportingOverflow(length)
      let (plain, isHuge) = plainOffset.addingReportingOverflow(plainLength)
      guard !isFar, !isHuge, end <= size else { throw damaged }
      frames.append(Frame(compressed: offset..<end, plain: plainOffset..<plain, check: check))
      compressedEnd = end
      plainEnd = plain
    }
    return frames
  }
}

extension ArchiveEntry.Kind {
  /// The kind that a letter in a tar header stands for.
  init?(typeflag: UInt8) {
    switch typeflag {
    case UInt8(ascii: "0"): self = .file
    case UInt8(ascii: "1"): self = .hardLink
    case UInt8(ascii: "2"): self = .symbolicLink
    case UInt8(ascii: "3"): self = .characterDevice
    case UInt8(ascii: "4"): self = .blockDevice
    case UInt8(ascii: "5"): self = .directory
    case UInt8(ascii: "6"): self = .fifo
    default: return nil
    }
  }
}
