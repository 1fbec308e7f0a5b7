import BatchEngine

/// Assembles the archive, and writes a manifest row for each path: unchanged paths keep their rows, others get the digests of
/// their members.
package final class BackupCollector: BatchCollector {
  /// What was written; nil without ``ArchiveOptions/isRemembered``.
  package typealias Summary = BackupContent

  /// Members that the archive's collector has reported and that have no manifest row yet.
  private final class Reported {
    var members: [ArchivedMember] = []
  }

  private let plan: BackupPlan
  private let context: CollectorContext
  private let outputs: SnapshotOutputs
  private let collector: ArchiveCollector
  private let writer: SnapshotWriter
  private let reported: Reported
  /// Rows whose members have not been added yet, and the rows after them, in tree order.
  private var waiting: [BackupRow] = []
  private var rotten = 0
  /// The contents of files with several names, by first name, for the rows of further names.
  private var contents: [PathBytes: (digest: Digest?, size: UInt64, isUnsettled: Bool)] = [:]

  init(
    _ plan: BackupPlan, in context: CollectorContext, job: ArchiveJob, outputs: SnapshotOutputs,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.plan = plan
    self.context = context
    self.outputs = outputs
    let reported = Reported()
    self.reported = reported
    collector = try job.makeCollector(in: context) { (members) throws(BatchError) in
      reported.members += members
      try report(members)
    }
    writer = try SnapshotWriter(plan.header, to: outputs.manifestStream)
  }

  package func collect(_ rows: [BackupRow]) throws(BatchError) {
    for row in rows {
      switch row {
      case .source, .kept, .mount:
        if waiting.isEmpty { try write(row) } else { waiting.append(row) }
      case .planned: waiting.append(row)
      case .archived(let row):
        try collector.collect([row])
        let members = reported.members
        reported.members.removeAll()
        // Links to files that are not in the archive were made, and then left out.
        let made = if case .segment(_, let made) = row { made } else { members }
        if let last = made.last { try write(members, upTo: last.number) }
      case .rotten(let path):
        rotten += 1
        context.report(
          Problem(
            .changed,
            BatchError(
              .changed,
              "ROT: the content changed, but size and times did not"
                + (plan.acceptsRot ? "" : "; the snapshot keeps the bytes from before"), path: path,
              remedy: plan.acceptsRot ? nil : .restoreOrAcceptRot)),
          severity: .warning)
      }
    }
  }

  /// Writes the waiting rows up to a number; a planned row without a member is left out, because its path is not in the archive.
  private func write(_ members: [ArchivedMember], upTo last: UInt64) throws(BatchError) {
    var members = members[...]
    var count = 0
    for row in waiting {
      if case .planned(var planned) = row {
        guard planned.number <= last else { break }
        if let member = members.first, member.number == planned.number {
          members.removeFirst()
          if complete(&planned.entry, by: member) { try writer.append(planned.entry) }
        }
      } else {
        try write(row)
      }
      count += 1
    }
    waiting.removeFirst(count)
  }

  /// - Returns: whether the archive has the content of the file.
  private func complete(_ entry: inout SnapshotEntry, by member: ArchivedMember) -> Bool {
    guard member.flags.isDisjoint(with: .incomplete) else { return false }
    if let firstName = entry.firstName {
      guard let known = contents[firstName] else { return false }
      (entry.digest, entry.size, entry.isUnsettled) = known
    } else if entry.kind == .file {
      // Nil for a file with very large holes.
      entry.digest = member.digest
      entry.size = member.size
      // In the last second before 1970 the archive has no fraction, but the next backup compares the whole time.
      if entry.modified.seconds != -1 || member.modified.seconds != -1 { entry.modified = member.modified }
      entry.isUnsettled = !member.isSettled || member.flags.contains(.changed)
      if entry.linkCount > 1 { contents[entry.path] = (entry.digest, entry.size, entry.isUnsettled) }
    } else if entry.kind == .symbolicLink {
      entry.linkTarget = member.linkTarget
    }
    return true
  }

  private func write(_ row: BackupRow) throws(BatchError) {
    switch row {
    case .source(let source): try writer.begin(source)
    case .mount(let path): writer.add(mount: MemberNaming.name(of: path))
    case .kept(let kept):
      context.counters.addSkipped(.upToDate, kept.count)
      try writer.append(kept)
    case .planned, .archived, .rotten: break
    }
  }

  /// Writes the end of the archive and of the manifest; both are renamed later.
  package func finish() throws(BatchError) -> BackupContent {
    let written = try collector.finish()
    try write([], upTo: .max)
    try writer.finish(
      archiveSize: try outputs.sealArchive(), index: written?.index.digest,
      isVerified: plan.archive.isRemembered,
      failures: UInt64(clamping: context.counters.snapshot.failed), selection: plan.selection,
      recipients: plan.recipients)
    try outputs.encryption?.manifest.seal()
    return BackupContent(
      header: plan.header, footer: writer.footer, written: written, repeated: plan.repeated.count,
      rotten: rotten, leftOut: plan.leftOut.count)
  }

  package func discard() { collector.discard() }
}

/// The summary of what a backup has written.
package struct BackupContent: Sendable {
  package let header: SnapshotHeader
  package let footer: SnapshotFooter
  /// For the comparison with what is read back; nil if not requested.
  package let written: WrittenArchive?
  /// How many files were archived only because they changed shortly before the previous snapshot.
  package let repeated: Int
  /// How many files have other bytes than before, although their status has not changed.
  package let rotten: Int
  /// How many files of sets were not archived.
  package let leftOut: Int
}
