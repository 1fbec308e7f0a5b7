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

  /// The blocks that end a tar have to be there, whether or not the index counts their frame.
  private func verifyEnd(of archive: IndexedArchive, _ tools: SegmentTools) throws(BatchError) {
    let index = archive.index
    let end = index.frames.last?.compressed.upperBound ?? 0
    var zeros: UInt64 = 0
    do throws(BatchError) {
      if end < archive.indexStart {
        let decoder = try archive.format.makeDecoder(DecoderOptions(maximumOutput: 1 << 20))
        zeros = try Self.zeros(in: try bytes(of: archive, from: end), decoder)
      } else if let last = index.frames.last {
        let content = try tools.loader.load(last)
        zeros = UInt64(content.reversed().prefix { $0 == 0 }.count)
      }
    } catch {
      guard error.code == .malformed else { throw error }
      verification.damaged("the end of the archive: " + error.message)
      return
    }
    if zeros < 1024 { verification.damaged("the blocks that end the archive are missing") }
  }

  private func bytes(of archive: IndexedArchive, from start: UInt64) throws(BatchError) -> [UInt8] {
    let length = archive.indexStart - start
    guard length <= 1 << 20 else {
      throw BatchError(.malformed, "there is something that the index does not know")
    }
    return try archive.file.bytes(at: start, count: Int(length))
  }

  private static func zeros(in bytes: [UInt8], _ decoder: StreamDecoder) throws(BatchError) -> UInt64 {
    var count: UInt64 = 0
    var isClean = true
    let damage = try withBytes(of: bytes) { (raw) throws(BatchError) in
      try FileDecoder.damage { () throws(DecodingError) in
        try decoder.decode(raw) { (piece) throws(BatchError) in
          count += UInt64(piece.count)
          if piece.contains(where: { $0 != 0 }) { isClean = false }
        }
        try decoder.finish()
      }
    }
    if let damage { throw BatchError(.malformed, damage.message) }
    return isClean ? count : 0
  }
}
