import BatchEngine

/// Lists the members of an archive, or the files of a snapshot.
package struct ListCall: Call {
  package enum Members {
    /// - Parameter globs: the texts that select members.
    case archive(ReadArchive, MemberSelection, globs: [PathBytes])
    case snapshot(SnapshotListReader)
  }

  package var members: Members
  /// Whether everything about a member is listed, which reads the headers.
  package var isDetailed = false
  package var showsDigests = false
  package var usesIndex = true
  /// Whether members that supersede others are marked.
  package var marksMembers = false
  /// Appends the row of a member; called on many threads at once.
  private let render: @Sendable (ListedMember, inout [UInt8]) -> Void
  /// Descriptors that the reader needs.
  package var inputs = 0

  package init(_ members: Members, render: @escaping @Sendable (ListedMember, inout [UInt8]) -> Void) {
    (self.members, self.render) = (members, render)
  }

  package var limits: CallLimits { CallLimits(inputs: inputs) }

  package func verdict(_ tally: CallTally) -> CallVerdict { .ofReading(tally) }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<ArchiveFindings> {
    let job = MemberListJob(render: render, output: report)
    switch members {
    case .archive(let archive, let selection, let globs):
      let reader = try MemberListReader(
        try archive.open(in: run), selection: selection, globs: globs, details: isDetailed,
        digests: showsDigests, usesIndex: usesIndex, memory: run.options.memory, marks: marksMembers,
        by: run.reading)
      let end = reader.end
      return Prepared(job, reading: reader, total: nil) { _ in end.findings }
    case .snapshot(let reader):
      let end = reader.end
      return Prepared(job, reading: reader, total: nil) { _ in end.findings }
    }
  }
}

/// Writes the contents of the members of an archive to a stream, one after the other.
package struct PrintCall: Call {
  private let archive: ReadArchive
  package var selection: MemberSelection
  private let globs: [PathBytes]
  private let archiveLimits: ArchiveLimits
  private let stream: any ResultStream
  /// Descriptors that the reader needs.
  package var inputs = 0

  /// - Parameter globs: the texts that select members.
  package init(
    _ archive: ReadArchive, _ selection: MemberSelection, globs: [PathBytes], _ limits: ArchiveLimits,
    to stream: any ResultStream
  ) {
    (self.archive, self.selection, self.globs) = (archive, selection, globs)
    (archiveLimits, self.stream) = (limits, stream)
  }

  package var limits: CallLimits { CallLimits(inputs: inputs) }

  package func verdict(_ tally: CallTally) -> CallVerdict { .ofReading(tally) }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Never) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<ArchiveFindings> {
    let reader = PrintReader(
      try archive.open(in: run), selection: selection, globs: globs, limits: archiveLimits,
      memory: run.options.memory)
    let end = reader.end
    var prepared = Prepared(PrintJob(to: stream), reading: reader, total: nil) { _ in end.findings }
    prepared.complete = { [stream] (_) throws(BatchError) in try stream.finish() }
    return prepared
  }
}

extension ArchiveFindings: CallResult {
  package var findings: [String: Int] {
    ["unmatched": unmatched.count, "damaged": isDamaged ? 1 : 0, "cut_short": isCutShort ? 1 : 0]
  }
}

extension CallVerdict {
  /// The verdict of a run that only reads the members of an archive.
  fileprivate static func ofReading(_ tally: CallTally) -> CallVerdict {
    let counts = tally.counts
    func has(_ finding: String) -> Bool { (tally.findings[finding] ?? 0) > 0 }
    return CallVerdict()
      .adding(.incomplete, if: has("cut_short"))
      .adding(
        .nothing,
        if: has("cut_short") ? counts.done == 0 && !has("damaged") : counts.isNothing && has("unmatched")
      )
      .adding(.someFailed, if: counts.failed > 0 || has("unmatched"))
  }
}
