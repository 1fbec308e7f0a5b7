import BatchEngine

/// Copies the needed members of an archive to a new one.
///
/// A group of frames without a needed member is left out. A group of which enough is needed is copied as it is. Of another group the
/// needed members are compressed again. Large members consist of several frames, which are copied or left out together.
struct ArchiveCompactor {
  private enum Step: UInt8 {
    case leaveOut, copy, cut
  }

  /// How much of an archive is needed.
  struct Measure: Sendable {
    /// Bytes of needed members in the decoded archive, with their headers.
    fileprivate(set) var needed: UInt64 = 0
    /// Bytes of all members.
    fileprivate(set) var total: UInt64 = 0
    /// The estimated size of the frames that remain.
    fileprivate(set) var stored: UInt64 = 0
    /// The size of the frames without those that end the archive.
    fileprivate(set) var storedTotal: UInt64 = 0

    /// The part that is needed, in percent.
    func isBelow(_ percent: Int) -> Bool { ArchiveCompactor.isBelow(percent, needed, of: total) }
  }

  /// A group of which less is needed is compressed again; more costs time, less keeps what is not needed.
  private static let leastCopied = 50

  let archive: IndexedArchive
  private let needed: NeededMembers
  private var targets = NeededMembers()
  /// How many frames at the end have no member.
  private let endCount: Int
  private var steps: [Step] = []
  private(set) var measure = Measure()

  /// Decides what becomes of each group.
  ///
  /// - Parameters:
  ///   - least: the least part of the new archive that is needed, in percent.
  /// - Throws: `unsupported` if it has no index, or another form than the archives of a set; `malformed` if it is damaged, or lacks
  ///   a needed member.
  init(
    _ file: ArchiveFile, needed: NeededMembers, least: Int, memory: Int, by right: ReadingRight
  ) throws(BatchError) {
    archive = try Self.open(file, memory: memory, by: right)
    self.needed = needed
    if let error = try needed.contradiction(archive.index, file.cancellation) { throw error }
    let loader = try FrameLoader(file, archive.format, by: right)
    endCount = try Self.endCount(of: archive, loader)
    try addTargets(loader)
    try plan(max(least, Self.leastCopied))
  }

  /// An archive of a set with its index.
  ///
  /// - Throws: `unsupported` if it has none, or another form; `malformed` if it is damaged.
  static func open(
    _ file: ArchiveFile, memory: Int, by right: ReadingRight
  ) throws(BatchError) -> IndexedArchive {
    let open = try OpenArchive(file, checks: true, memory: memory, by: right)
    guard let archive = open.index else {
      throw open.unusedIndex ?? BatchError(.unsupported, "has no index")
    }
    if let damage = archive.damagedStart { throw damage }
    if let remark = open.remarks.first { throw BatchError(.malformed, remark) }
    guard archive.format == ArchiveFormat.tarZstandard.compression, archive.index.hasFrameChecks else {
      throw BatchError(.unsupported, "is not compressed by zstd")
    }
    return archive
  }

  /// Whether a part is less than so many percent.
  static func isBelow(_ percent: Int, _ part: UInt64, of total: UInt64) -> Bool {
    let (part, limit) = (
      part.multipliedFullWidth(by: 100), total.multipliedFullWidth(by: UInt64(clamping: percent))
    )
    return (part.high, part.low) < (limit.high, limit.low)
  }

  /// The frames that have only the blocks of zeros that end the archive.
  private static func endCount(of archive: IndexedArchive, _ loader: FrameLoader) throws(BatchError) -> Int {
    let frames = archive.index.frames
    guard let last = frames.last, last.plainSize == UInt64(2 * TarBlock.size),
      archive.index.groups.last.map({ $0.frames.count > 1 || $0.members.isEmpty }) == true,
      try loader.load(last).allSatisfy({ $0 == 0 })
    else {
      throw BatchError(.unsupported, "its end is not in a frame of its own")
    }
    return 1
  }

  // MARK: The plan

  private func isNeeded(_ member: ArchivedMember) -> Bool {
    needed.contains(member.path) || targets.contains(member.path)
  }

  /// Adds the files to which needed hard links lead; only the headers of the links name them.
  private mutating func addTargets(_ loader: FrameLoader) throws(BatchError) {
    var cursor = IndexCursor(archive.index)
    var resolved: Set<Int> = []
    var isComplete = false
    while !isComplete {
      isComplete = true
      for group in archive.index.groups {
        let members = try cursor.slice(group.members)
        let links = group.members.filter { number in
          !resolved.contains(number) && members[number].kind == .hardLink && isNeeded(members[number])
        }
        guard !links.isEmpty else { continue }
        resolved.formUnion(links)
        var segment = SegmentReader(archive: archive, loader: loader)
        var found: [PathBytes] = []
        try segment.read(group, members, limits: ArchiveLimits()) { number, _, entry, _ in
          if links.contains(number), let target = entry.linkTarget { found.append(target) }
        }
        for target in found where !targets.contains(target) && !needed.contains(target) {
          try targets.insert(target, nil)
          isComplete = false
        }
      }
    }
  }

  private mutating func plan(_ least: Int) throws(BatchError) {
    let index = archive.index
    var cursor = IndexCursor(index)
    steps.reserveCapacity(index.groups.count)
    for (number, group) in index.groups.enumerated() {
      try archive.file.cancellation.check()
      let frames = frames(of: group, number)
      guard let first = frames.first, let last = frames.last else {
        steps.append(.leaveOut)
        continue
      }
      let members = try cursor.slice(group.members)
      let size = index.frames[last].plain.upperBound - index.frames[first].plain.lowerBound
      var part: UInt64 = 0
      for number in group.members where isNeeded(members[number]) {
        let place = index.place(of: number, in: group, members)
        part += min(place.upperBound, size) - min(place.lowerBound, size)
      }
      let stored = index.frames[last].compressed.upperBound - index.frames[first].compressed.lowerBound
      measure.total += size
      measure.needed += part
      measure.storedTotal += stored
      let step: Step =
        part == 0 ? .leaveOut : frames.count > 1 || !Self.isBelow(least, part, of: size) ? .copy : .cut
      steps.append(step)
      switch step {
      case .leaveOut: break
      case .copy: measure.stored += stored
      // An estimate.
      case .cut: measure.stored += UInt64(Double(stored) * Double(part) / Double(size))
      }
    }
  }

  /// The frames of a group, without those that end the archive.
  private func frames(of group: MemberIndex.Group, _ number: Int) -> Range<Int> {
    guard number == archive.index.groups.count - 1 else { return group.frames }
    return group.frames.lowerBound..<max(group.frames.lowerBound, group.frames.upperBound - endCount)
  }

  // MARK: The new archive

  /// Writes the needed members, the end, and a new index.
  ///
  /// - Parameter origin: the archive before its first compaction, for the record.
  /// - Throws: `malformed` when a frame that has to be decoded is damaged; the errors of reading and writing.
  func write(to stream: any ResultStream, of origin: StoredArchive, _ run: RunContext) throws(BatchError) {
    let options = ArchiveOptions(format: .tarZstandard)
    let assembler = try ArchiveAssembler(options, stream: stream, buffers: FrameBuffers(), run.concurrency)
    let rewriter = SegmentRewriter(options: options)
    var cursor = IndexCursor(archive.index)
    for (number, group) in archive.index.groups.enumerated() {
      try run.cancellation.check()
      switch steps[number] {
      case .leaveOut: continue
      case .copy: try copy(group, frames(of: group, number), try cursor.slice(group.members), assembler)
      case .cut: try cut(group, try cursor.slice(group.members), rewriter, assembler)
      }
    }
    _ = try assembler.finish(of: archive.index.origin ?? origin)
  }

  private func copy(
    _ group: MemberIndex.Group, _ frames: Range<Int>, _ members: IndexSlice, _ assembler: ArchiveAssembler
  ) throws(BatchError) {
    var numbers: [UInt32] = []
    for number in frames {
      let frame = archive.index.frames[number]
      numbers.append(
        try assembler.adopt(
          frame.compressed, of: archive.file.descriptor, plainSize: frame.plainSize, check: frame.check ?? 0
        ) { (range) throws(BatchError) in
          try archive.file.bytes(at: range.lowerBound, count: Int(clamping: range.count))
        })
    }
    for number in group.members {
      let member = members[number]
      let place = member.frame - frames.lowerBound
      guard numbers.indices.contains(place) else { throw StoredIndex.damaged }
      try assembler.adopt(member, frame: numbers[place])
    }
  }

  private func cut(
    _ group: MemberIndex.Group, _ members: IndexSlice, _ rewriter: SegmentRewriter,
    _ assembler: ArchiveAssembler
  ) throws(BatchError) {
    let frame = archive.index.frames[group.frames.lowerBound]
    let whole = ArchiveFrame(
      bytes: try archive.file.bytes(
        at: frame.compressed.lowerBound, count: Int(clamping: frame.compressedSize)),
      plainSize: frame.plainSize)
    guard whole.check == frame.check else {
      throw BatchError(.malformed, "\(archive.index.place(of: group)): wrong checksum")
    }
    let all = group.members.map { members[$0] }
    let (made, rest) = try rewriter.removing(all.indices.filter { !isNeeded(all[$0]) }, from: whole, all)
    guard let made else { return }
    let number = try assembler.adopt(made)
    for member in rest { try assembler.adopt(member, frame: number) }
  }
}
