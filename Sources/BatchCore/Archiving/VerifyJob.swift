/// Decodes an archive, compares everything that it says of itself, and keeps nothing.
public final class VerifyJob: BatchJob {
  /// What was found out about a member.
  public struct Finding: Sendable {
    public let path: PathBytes
    /// Why it cannot be had as it was; nil when it can.
    public let damage: BatchError?
  }

  private let verification: Verification
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameter output: takes what was found out about each member, in the order of the archive.
  public init(
    _ verification: Verification, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.verification = verification
    self.output = output
  }

  public func process(
    _ chunk: Chunk<VerifySource.Item>, in context: ChunkContext
  ) throws(BatchError) -> [Finding] {
    var findings = [Finding]()
    for item in chunk.items {
      try context.checkCancellation()
      switch item.step {
      case .segment(let archive, let group):
        let tools = try context.tool(of: self) { () throws(BatchError) in try SegmentTools(archive) }
        try verify(group, of: archive, tools, in: context, into: &findings)
      case .end(let archive):
        let tools = try context.tool(of: self) { () throws(BatchError) in try SegmentTools(archive) }
        try verifyEnd(of: archive, tools)
      case .read(let path):
        context.finish()
        findings.append(Finding(path: path, damage: nil))
      case .unreadable(let path, let error):
        context.finish()
        if let path {
          findings.append(Finding(path: path, damage: error))
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
    _ group: MemberIndex.Group, of archive: IndexedArchive, _ tools: SegmentTools, in context: ChunkContext,
    into findings: inout [Finding]
  ) throws(BatchError) {
    let segment = SegmentReader(archive: archive, loader: tools.loader)
    var found = [Finding]()
    defer { tellAltered(tools) }
    do throws(BatchError) {
      try segment.read(group, limits: ArchiveLimits()) { (_, member, entry, reader) throws(BatchError) in
        found.append(try finding(of: member, entry, reader, tools, archive, in: context))
      }
    } catch {
      try context.checkCancellation()
      guard error.code == .malformed else { throw error }
      verification.damaged(place(of: group, in: archive) + ": " + error.message)
      found = []
      try segment.salvage(group, digests: tools.digests) { (_, member, rest) throws(BatchError) in
        let damage = rest == nil ? BatchError(.malformed, "damaged", path: member.path) : nil
        found.append(Finding(path: member.path, damage: damage))
      }
    }
    for _ in found { context.finish() }
    findings += found
  }

  private func finding(
    of member: MemberIndex.Member, _ entry: ArchiveEntry, _ reader: ArchiveReader, _ tools: SegmentTools,
    _ archive: IndexedArchive, in context: ChunkContext
  ) throws(BatchError) -> Finding {
    guard entry.kind == .file else { return Finding(path: member.path, damage: nil) }
    let digest = ContentDigest(tools.digests, cancellation: archive.file.cancellation)
    try reader.readContent { (piece, offset) throws(BatchError) in
      try context.checkCancellation()
      try digest.add(piece, at: offset)
      context.count(bytes: piece.count)
    }
    let isRight = try digest.finish(size: entry.size) == member.digest
    return Finding(
      path: member.path,
      damage: isRight ? nil : BatchError(.malformed, "its SHA-256 is another", path: member.path))
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
