import BatchEngine

/// Assembles an archive from the results of the workers, in tree order.
///
/// Only it decides whether a further name of a file can be a link: workers do not know whether the first name was archived.
package final class ArchiveCollector: BatchCollector {
  /// What was written; nil without ``ArchiveOptions/isRemembered``.
  package typealias Summary = WrittenArchive?

  private enum Container {
    case segments(ArchiveAssembler)
    case serial(SerialArchive)
  }

  private let options: ArchiveOptions
  private let context: CollectorContext
  private let container: Container
  private let parts: (any ArchiveParts)?
  private let report: ([ArchivedMember]) throws(BatchError) -> Void
  /// Files whose first names are not in the archive.
  private var missing: Set<FileIdentity> = []

  /// - Throws: `invalid` for a level that the format does not have.
  init(
    _ options: ArchiveOptions, in context: CollectorContext, output: any ResultStream,
    parts: (any ArchiveParts)?, buffers: FrameBuffers,
    report: @escaping ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.options = options
    self.context = context
    self.report = report
    self.parts = parts
    // One buffer being filled and one being written for each lane, and a few in transit.
    container =
      options.format.container == .tar
      ? .segments(try ArchiveAssembler(options, stream: output, parts, buffers: buffers, context.concurrency))
      : .serial(try SerialArchive(options, stream: output))
  }

  package func collect(_ rows: [ArchiveRow]) throws(BatchError) {
    for row in rows {
      switch row {
      case .missing(let identity):
        missing.insert(identity)
        try parts?.add(missing: identity)
      case .segment(let frame, let members): try append(frame, members)
      case .header(let member, let frame, let entry):
        guard case .segments(let archive) = container else { continue }
        try archive.begin(member, frame, entry)
      case .block(let member, let index, let block): try append(block, index, of: member)
      case .members(let members): try append(members)
      }
    }
  }

  /// Writes the end of the archive.
  package func finish() throws(BatchError) -> WrittenArchive? {
    switch container {
    case .segments(let archive): try archive.finish()
    case .serial(let archive): try archive.finish()
    }
  }

  // MARK: Segments

  private func append(_ frame: ArchiveFrame, _ members: [ArchivedMember]) throws(BatchError) {
    guard case .segments(let archive) = container else { return }
    let unusable = members.danglingLinks(to: missing)
    guard !unusable.isEmpty else {
      try archive.append(frame, members)
      return try tell(members)
    }
    for index in unusable { context.report(.dangling(members[index].path)) }
    let (rest, kept) = try SegmentRewriter(options: options).removing(unusable, from: frame, members)
    if let rest { try archive.append(rest, kept) }
    try tell(kept)
  }

  private func tell(_ members: [ArchivedMember]) throws(BatchError) {
    for member in members where member.kind == .hardLink { context.counters.addDone() }
    try report(members)
  }

  // MARK: Large files

  private func append(_ block: LargeBlock, _ index: Int, of member: LargeMember) throws(BatchError) {
    let written: LargeOutcome? =
      switch container {
      case .segments(let archive): try archive.append(block, index, of: member)
      case .serial(let archive): try archive.append(block, index, of: member)
      }
    guard let written else { return }
    settle(written, of: member.record.path)
    try report([written.member])
  }

  /// Counts and reports a file that several operations read.
  private func settle(_ outcome: LargeOutcome, of path: PathBytes) {
    if let failure = outcome.failure {
      let message = "could not be read wholly, and is filled up with zeros: \(failure.message)"
      context.counters.addFailed()
      context.report(
        Problem(.unreadable, BatchError(.unreadable, message, path: path, errno: failure.errno)),
        severity: .failure)
      return
    }
    guard !outcome.isStable else { return context.counters.addDone() }
    let severity = context.options.policy.severity(of: .changed)
    if severity == .failure {
      context.counters.addFailed()
    } else {
      context.counters.addChanged()
      context.counters.addDone()
    }
    context.report(
      Problem(.changed, BatchError(.changed, "changed while it was read", path: path)), severity: severity)
  }

  // MARK: Containers of one piece

  private func append(_ members: [SerialMember]) throws(BatchError) {
    guard case .serial(let archive) = container else { return }
    var written = [ArchivedMember]()
    for member in members {
      if member.entry.kind == .hardLink, let identity = member.identity, missing.contains(identity) {
        context.report(.dangling(member.entry.path))
        continue
      }
      var member = member
      limitTime(of: &member.entry)
      switch try archive.append(member) {
      case .added(let member, let isWhole):
        if isWhole { context.counters.addDone() }
        written.append(member)
      case .begun: break
      case .refused(let error):
        if member.linkCount > 1, let identity = member.identity { missing.insert(identity) }
        context.report(Problem(.unreadable, error))
      }
    }
    try report(written)
  }

  /// Replaces a time that the format cannot store by the nearest one, because libarchive would write another time.
  private func limitTime(of entry: inout ArchiveEntry) {
    let (times, seconds) = (options.format.times, entry.modified.seconds)
    guard !times.contains(seconds) else { return }
    entry.modified = FileStatus.Time(
      seconds: min(max(seconds, times.lowerBound), times.upperBound), nanoseconds: 0)
    let error = BatchError(
      .special, "its time is replaced: \(options.format.name) has times from 1970 to 2106 only",
      path: entry.path)
    context.report(Problem(.special, error), severity: .warning)
  }
}

extension [ArchivedMember] {
  /// The positions of hard links to files that are not in the archive.
  func danglingLinks(to missing: Set<FileIdentity>) -> [Int] {
    guard !missing.isEmpty else { return [] }
    return indices.filter { self[$0].kind == .hardLink && self[$0].identity.map(missing.contains) ?? false }
  }
}

extension Problem {
  /// The problem of a hard link to a file that is not in the archive.
  static func dangling(_ path: PathBytes) -> Problem {
    Problem(
      .unreadable,
      BatchError(
        .unreadable, "is a further name of a file that could not be archived under its first name", path: path
      ))
  }
}

/// The outcome of a large file, to which each of its blocks is added.
struct LargeOutcome {
  var member: ArchivedMember
  /// Why parts of it were replaced by zeros.
  private(set) var failure: BatchError?
  /// Whether the file did not change.
  private(set) var isStable = true

  init(_ member: ArchivedMember) {
    self.member = member
  }

  mutating func add(_ block: LargeBlock, _ position: Int) {
    failure = failure ?? block.failure
    isStable = isStable && block.isStable
    member.flags = MemberFlags(failure: failure, isStable: isStable)
    member.isSettled = block.isSettled && (position == 0 || member.isSettled)
  }
}
