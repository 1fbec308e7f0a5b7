import BatchEngine

/// Decodes an archive, compares everything that it says of itself, and keeps nothing.
public final class VerifyJob: ChunkJob {
  /// What was found out about a member.
  public struct Finding: Sendable {
    public let path: PathBytes
    /// Why it cannot be had as it was; nil when it can.
    public let damage: BatchError?
    /// What the index says of its reading, where the archive has one.
    public var flags: MemberFlags = []
    /// How the folder that the archive is held against differs; nil where it does not.
    public var difference: LiveDifference?
    /// What is to be said of other members of its name.
    var mark = SupersededMembers.Mark.none

    /// Whether a later member has its name; such a one is not held against a folder.
    public var isSuperseded: Bool { mark == .superseded }

    /// Whether an earlier member has its name, in an archive that is read once.
    public var supersedes: Bool { mark == .supersedes }
  }

  private let verification: Verification
  private let live: LiveTree?
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - live: the folder that the source was given.
  ///   - output: takes what was found out about each member, in the order of the archive.
  public init(
    _ verification: Verification, live: LiveTree? = nil,
    output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.verification = verification
    self.live = live
    self.output = output
  }

  public func process(
    _ chunk: Chunk<VerifySource.Item>, in context: ChunkContext
  ) throws(BatchError) -> [Finding] {
    var findings = [Finding]()
    for item in chunk.items {
      try context.checkCancellation()
      switch item.step {
      case .segment(let archive, let group, let members):
        let tools = try context.tool(of: self) { () throws(BatchError) in try SegmentTools(archive) }
        try verify(group, members, of: archive, tools, in: context, into: &findings)
      case .end(let archive):
        let tools = try context.tool(of: self) { () throws(BatchError) in try SegmentTools(archive) }
        try verifyEnd(of: archive, tools)
      case .stretch(let archive, let stretch):
        try verify(stretch, of: archive, in: context)
      case .compare(let member):
        var finding = Finding(path: member.path, damage: nil, mark: item.mark)
        try settle(&finding, as: member, in: context)
        findings.append(finding)
      case .new(let path):
        findings.append(Finding(path: path, damage: nil, difference: LiveDifference(.new)))
      case .problem(let problem): context.report(problem)
      case .read(let path):
        context.finish()
        findings.append(Finding(path: path, damage: nil, mark: item.mark))
      case .unreadable(let path, let error):
        guard error.code != .unsupported else {
          context.report(Problem(.unreadable, path.map { error.at($0) } ?? error))
          continue
        }
        if let path {
          context.finish()
          findings.append(Finding(path: path, damage: error, mark: item.mark))
        } else {
          verification.damaged(error.message)
        }
      }
    }
    return findings
  }

  public func collect(_ findings: [Finding]) throws(BatchError) {
    try output(findings)
  }

  private func verify(
    _ group: MemberIndex.Group, _ members: IndexSlice, of archive: IndexedArchive, _ tools: SegmentTools,
    in context: ChunkContext,
    into findings: inout [Finding]
  ) throws(BatchError) {
    var segment = SegmentReader(archive: archive, loader: tools.loader)
    var found = [(finding: Finding, member: ComparedMember)]()
    defer { tellAltered(tools) }
    do throws(BatchError) {
      try segment.read(group, members, limits: ArchiveLimits()) {
        (_, member, entry, reader) throws(BatchError) in
        found.append(
          (
            try finding(of: member, entry, reader, tools, archive, in: context), ComparedMember(member, entry)
          ))
      }
    } catch {
      try context.checkCancellation()
      guard error.code == .malformed else { throw error }
      verification.damaged(place(of: group, in: archive) + ": " + error.message)
      found = []
      try segment.salvage(group, members, digests: tools.digests) { (_, member, rest) throws(BatchError) in
        let damage = rest == nil ? BatchError(.malformed, "damaged", path: member.path) : nil
        found.append(
          (Finding(path: member.path, damage: damage), ComparedMember(member, rest?.entry)))
      }
    }
    let marks = verification.marks
    for (number, (finding, member)) in zip(group.members, found) {
      var finding = finding
      finding.flags = members.flags(of: number).subtracting(.digest)
      finding.mark = marks.mark(of: number)
      try settle(&finding, as: member, in: context)
      findings.append(finding)
    }
  }

  /// Counts a member, and holds it against the folder where there is one.
  private func settle(
    _ finding: inout Finding, as member: ComparedMember, in context: ChunkContext
  ) throws(BatchError) {
    guard let live, !finding.isSuperseded else { return context.finish() }
    let comparison = try context.tool(of: live) { () throws(BatchError) in try LiveComparison(live) }
    guard case .compared(let difference) = try comparison.compare(member, in: context) else { return }
    finding.difference = difference
    context.finish()
  }

  private func finding(
    of member: MemberIndex.Member, _ entry: ArchiveEntry, _ reader: ArchiveReader, _ tools: SegmentTools,
    _ archive: IndexedArchive, in context: ChunkContext
  ) throws(BatchError) -> Finding {
    guard entry.kind == .file else { return Finding(path: member.path, damage: nil) }
    // A file of very large holes has none; its data is decoded all the same.
    guard let recorded = member.digest else {
      try reader.readContent { (piece, _) throws(BatchError) in
        try context.checkCancellation()
        context.count(bytes: piece.count)
      }
      return Finding(path: member.path, damage: nil)
    }
    let digest = ContentDigest(tools.digests, cancellation: archive.file.cancellation)
    try reader.readContent { (piece, offset) throws(BatchError) in
      try context.checkCancellation()
      try digest.add(piece, at: offset)
      context.count(bytes: piece.count)
    }
    let isRight = try digest.finish(size: entry.size) == recorded
    return Finding(
      path: member.path,
      damage: isRight ? nil : BatchError(.malformed, "its SHA-256 is another", path: member.path))
  }

  private func verify(
    _ stretch: WrittenArchive.Stretch, of archive: ArchiveFile, in context: ChunkContext
  ) throws(BatchError) {
    let digest = try DigestStream(stretch.digest.algorithm)
    let buffer = try ScratchBuffer(capacity: 256 << 10)
    var position = stretch.bytes.lowerBound
    while position < stretch.bytes.upperBound {
      try context.checkCancellation()
      let wanted = Int(min(UInt64(buffer.room.count), stretch.bytes.upperBound - position))
      let room = UnsafeMutableRawBufferPointer(rebasing: buffer.room[..<wanted])
      let count = try archive.read(at: position, into: room)
      if count == 0 { break }
      try digest.update(UnsafeRawBufferPointer(rebasing: room[..<count]))
      position += UInt64(count)
    }
    if try digest.finish() != stretch.digest {
      let isAll = stretch.bytes.lowerBound == 0
      verification.damaged("some of \(isAll ? "its bytes" : "the bytes behind its members") are others")
    }
  }

  private func place(of group: MemberIndex.Group, in archive: IndexedArchive) -> String {
    let first = archive.index.frames[group.frames.lowerBound].compressed.lowerBound
    let last = archive.index.frames[group.frames.upperBound - 1].compressed.upperBound
    return "bytes \(first) to \(last)"
  }

  /// Frames with a byte that is not what it was, and that nothing depends on.
  private func tellAltered(_ tools: SegmentTools) {
    for frame in tools.loader.takeAltered() {
      let range = frame.compressed
      verification.damaged(
        "bytes \(range.lowerBound) to \(range.upperBound): not as they were written, and no content lost")
    }
  }

  /// The blocks that end a tar have to be there.
  private func verifyEnd(of archive: IndexedArchive, _ tools: SegmentTools) throws(BatchError) {
    guard let last = archive.index.frames.last else { return }
    defer { tellAltered(tools) }
    do throws(BatchError) {
      let zeros = try tools.loader.load(last).reversed().prefix { $0 == 0 }.count
      if zeros < 1024 { verification.damaged("the blocks that end the archive are missing") }
    } catch {
      guard error.code == .malformed else { throw error }
      verification.damaged("the end of the archive: " + error.message)
    }
  }
}
