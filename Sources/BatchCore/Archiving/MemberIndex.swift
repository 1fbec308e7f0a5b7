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

  static let magic = Array("BPIDX002".utf8)
  /// Of the numbers behind all that is stored of an index.
  static let trailerSize = 12
  private static let digestSize = 32
  private static let frameSize = 36
  private static let smallestMember = 42

  /// Bytes of all files together.
  let totalBytes: UInt64
  let frames: [Frame]
  let groups: [Group]
  /// Of the whole index, as it stands at its end; it holds for the digests of the members too.
  let digest: Digest
  private let bytes: [UInt8]
  private let starts: [Int]
  /// Of each member, how many before it have a digest.
  private let digestNumbers: [UInt32]
  private let digestCount: Int
  private let digestOfChecks: Digest
  /// Of all members the CRC-32 of their headers, then the digests; nil where nobody asked for them.
  private var checks: [UInt8]?

  var count: Int { starts.count }

  /// The length of what ``with(checks:)`` takes, in bytes.
  var checksSize: UInt64 { UInt64(digestStart) + UInt64(digestCount) * UInt64(Self.digestSize) }

  private var digestStart: Int { count * MemoryLayout<UInt32>.size }

  /// - Parameter size: of the archive, which no frame may go beyond.
  /// - Throws: `malformed` for an index that is damaged, or that claims what cannot be.
  init(_ bytes: [UInt8], size: UInt64) throws(BatchError) {
    let end = bytes.count - Self.digestSize
    let listEnd = end - Self.digestSize
    guard listEnd > Self.magic.count, let digest = Digest(.sha256, bytes: bytes[end...]),
      let digestOfChecks = Digest(.sha256, bytes: bytes[listEnd..<end])
    else {
      throw Self.damaged
    }
    let found = try withBytes(of: bytes) { (raw) throws(BatchError) in
      try DigestStream(.sha256).digest(of: UnsafeRawBufferPointer(rebasing: raw[..<end]))
    }
    guard found == digest else { throw Self.damaged }
    var reader = LittleEndianReader(bytes[..<listEnd])
    guard reader.take(Self.magic.count)?.elementsEqual(Self.magic) == true,
      let memberCount = reader.number(UInt64.self), let totalBytes = reader.number(UInt64.self),
      let frameCount = reader.number(UInt64.self),
      frameCount <= UInt64(reader.rest / Self.frameSize),
      memberCount <= UInt64(reader.rest / Self.smallestMember)
    else { throw Self.damaged }
    frames = try Self.frames(Int(frameCount), from: &reader, size: size)
    var starts = [Int]()
    var digestNumbers = [UInt32]()
    var groups = [Group]()
    starts.reserveCapacity(Int(memberCount))
    digestNumbers.reserveCapacity(Int(memberCount))
    var last: (frame: Int, offset: UInt64) = (-1, 0)
    var digestCount: UInt32 = 0
    for index in 0..<Int(memberCount) {
      starts.append(reader.position)
      digestNumbers.append(digestCount)
      guard let member = Row(&reader), frames.indices.contains(member.frame),
        member.offset < frames[member.frame].plainSize, !member.path.contains(0),
        (member.frame, member.offset) > last, digestCount < .max
      else { throw Self.damaged }
      if member.hasDigest { digestCount += 1 }
      last = (member.frame, member.offset)
      if member.offset == 0 {
        Self.close(&groups, frame: member.frame, member: index)
        groups.append(Group(frames: member.frame..<frames.count, members: index..<index))
      } else if index == 0 {
        throw Self.damaged
      }
    }
    Self.close(&groups, frame: frames.count, member: Int(memberCount))
    guard reader.rest == 0 else { throw Self.damaged }
    self.totalBytes = totalBytes
    self.digest = digest
    self.bytes = bytes
    self.starts = starts
    self.digestNumbers = digestNumbers
    self.digestCount = Int(digestCount)
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
    var index = self
    index.checks = checks
    return index
  }

  subscript(index: Int) -> Member {
    let row = row(index)
    var digest: Digest?
    var header: HeaderCheck?
    if let checks {
      var reader = LittleEndianReader(checks[(index * MemoryLayout<UInt32>.size)...])
      header = HeaderCheck(size: row.headerSize, check: reader.number() ?? 0)
      if row.hasDigest {
        let start = digestStart + Int(digestNumbers[index]) * Self.digestSize
        digest = Digest(.sha256, bytes: checks[start..<(start + Self.digestSize)])
      }
    }
    return Member(
      path: PathBytes(row.path), kind: row.kind, size: row.size, modified: row.modified, frame: row.frame,
      offset: row.offset, header: header, digest: digest)
  }

  private func row(_ index: Int) -> Row {
    var reader = LittleEndianReader(bytes[starts[index]...])
    guard let row = Row(&reader) else { preconditionFailure("was read before") }
    return row
  }

  /// Where the members of a group lie in its content: from each one's first header to the next one's.
  func place(of index: Int, in group: Group) -> Range<UInt64> {
    let base = frames[group.frames.lowerBound].plain.lowerBound
    func start(_ index: Int) -> UInt64 {
      let member = row(index)
      return frames[member.frame].plain.lowerBound - base + member.offset
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

  /// A member as it stands in the index, where its path remains.
  private struct Row {
    let path: ArraySlice<UInt8>
    let kind: ArchiveEntry.Kind
    let size: UInt64
    let modified: FileStatus.Time
    let frame: Int
    let offset: UInt64
    let headerSize: UInt32
    let hasDigest: Bool

    init?(_ reader: inout LittleEndianReader) {
      guard let length = reader.number(UInt32.self), let path = reader.take(Int(length)),
        let letter = reader.number(UInt8.self), let kind = ArchiveEntry.Kind(typeflag: letter),
        let size = reader.number(UInt64.self), let seconds = reader.number(Int64.self),
        let nanoseconds = reader.number(UInt32.self), nanoseconds < 1_000_000_000,
        let frame = reader.number(UInt32.self), let offset = reader.number(UInt64.self),
        let headerSize = reader.number(UInt32.self),
        let hasDigest = reader.number(UInt8.self), hasDigest <= 1
      else { return nil }
      self.path = path
      self.kind = kind
      self.size = size
      modified = FileStatus.Time(seconds: seconds, nanoseconds: Int32(nanoseconds))
      self.frame = Int(frame)
      self.offset = offset
      self.headerSize = headerSize
      self.hasDigest = hasDigest == 1
    }
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
