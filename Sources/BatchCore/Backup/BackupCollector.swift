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
  /// How many files refer to a content of the previous snapshot.
  private var references = 0
  /// The rows for the first names of files with several names, for the rows of further names.
  private var firstRows: [PathBytes: SnapshotEntry] = [:]
  /// Large files whose rows are still to come, each with the rows that follow it.
  private var unknown: [Unknown] = []
  /// Whether the file of which changed blocks were archived last changed between the comparison and that.
  private var changedMeanwhile = false

  /// A large file whose content turned out to be unknown, after later items had begun. The results of these wait until all of its
  /// blocks are in the archive, so that the archive has the order of the tree.
  private struct Unknown {
    let file: ProbedFile
    /// What is stored of it; nil if all of it is.
    var changed: ChangedBlocks?
    /// Its own rows, while an earlier large file is incomplete.
    var own: [BackupRow] = []
    var isComplete = false
    var following: [BackupRow] = []
  }

  /// Nil if the next backup needs no blocks.
  private let blocks: BlocksWriter?

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
    blocks = try outputs.blocks.flatMap { (output) throws(BatchError) in
      try plan.archive.blockSeed.map { (seed) throws(BatchError) in
        try BlocksWriter(plan.header, seed: seed, to: output)
      }
    }
  }

  package func collect(_ rows: [BackupRow]) throws(BatchError) {
    for row in rows {
      switch row {
      case .unknown(let file, let changed):
        unknown.append(Unknown(file: file, changed: changed))
        ask(changed.map { ProbedFile.items(of: $0.member, file.row) } ?? file.items, of: file)
      case .late(let file, let rows, let isLast):
        guard let index = unknown.firstIndex(where: { $0.file === file }) else { continue }
        if index == 0 { for row in rows { try take(row) } } else { unknown[index].own += rows }
        if isLast { unknown[index].isComplete = true }
        try takeFollowing()
      default:
        if unknown.isEmpty { try take(row) } else { unknown[unknown.count - 1].following.append(row) }
      }
    }
  }

  private func ask(_ items: [(item: ArchiveItem, row: PlannedRow?)], of file: ProbedFile) {
    plan.asked.ask(
      items.enumerated().map { index, part in
        .late(file, part.item, part.row, isLast: index == items.count - 1)
      })
  }

  /// Takes the rows that waited for large files which are complete now.
  private func takeFollowing() throws(BatchError) {
    while let first = unknown.first, first.isComplete {
      if changedMeanwhile {
        // Its blocks do not fit those that were compared: all of it is stored.
        changedMeanwhile = false
        (unknown[0].changed, unknown[0].isComplete) = (nil, false)
        return ask(first.file.items, of: first.file)
      }
      unknown.removeFirst()
      for row in first.following { try take(row) }
      guard let next = unknown.first else { return }
      unknown[0].own = []
      for row in next.own { try take(row) }
    }
  }

  private func take(_ row: BackupRow) throws(BatchError) {
    switch row {
    case .source, .kept, .mount, .reference, .further:
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
    case .unknown, .late: break
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
          if try complete(&planned.entry, by: member) { try writer.append(planned.entry) }
        }
      } else {
        try write(row)
      }
      count += 1
    }
    waiting.removeFirst(count)
  }

  /// - Returns: whether the archive has the content of the file.
  private func complete(
    _ entry: inout SnapshotEntry, by member: ArchivedMember
  ) throws(BatchError) -> Bool {
    if let first = unknown.first, let changed = first.changed, first.file.row.number == member.number {
      guard member.flags.isEmpty else {
        changedMeanwhile = true
        return false
      }
      entry = changed.entry
      if entry.linkCount > 1 { firstRows[entry.path] = entry }
      try blocks?.append(changed.record, at: entry.place)
      return true
    }
    guard member.flags.isDisjoint(with: .incomplete) else { return false }
    if let firstName = entry.firstName {
      guard let first = firstRows[firstName] else { return false }
      entry.takeContent(of: first)
    } else if entry.kind == .file {
      entry.take(member)
      if entry.linkCount > 1 { firstRows[entry.path] = entry }
      if let list = member.blocks {
        try blocks?.append(BlocksRecord(list: list, changed: nil), at: entry.place)
      }
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
      context.counters.addSkipped(.upToDate, kept.count - kept.recounted)
      for place in kept.large { try copyBlocks(of: place) }
      try writer.append(kept)
    case .reference(let entry):
      references += 1
      if entry.size >= BlockList.smallestFile { try copyBlocks(of: entry.place) }
      if entry.linkCount > 1 { firstRows[entry.path] = entry }
      try writer.append(entry)
    case .further(let planned):
      guard let firstName = planned.entry.firstName, let first = firstRows[firstName] else {
        context.report(.dangling(planned.entry.path))
        return
      }
      var entry = planned.entry
      entry.takeContent(of: first)
      context.counters.addDone()
      try writer.append(entry, isFurther: true)
    case .planned, .archived, .rotten, .unknown, .late: break
    }
  }

  /// Copies what the file of blocks of the previous snapshot has of a member.
  private func copyBlocks(of place: SnapshotEntry.Place) throws(BatchError) {
    if let lines = try plan.blocks?.lines(at: place) { try blocks?.append(lines: lines) }
  }

  /// Writes the end of the archive and of the manifest; both are renamed later.
  package func finish() throws(BatchError) -> BackupContent {
    let written = try collector.finish()
    try write([], upTo: .max)
    let isStopped = plan.cut.isStop
    try writer.finish(
      archiveSize: try outputs.sealArchive(), index: written?.index.digest,
      isVerified: plan.archive.isRemembered && !isStopped, reached: plan.cut.reached,
      failures: UInt64(clamping: context.counters.snapshot.failed), selection: plan.selection,
      filter: plan.filter,
      recipients: plan.recipients)
    try outputs.encryption?.manifest.seal()
    try blocks?.finish()
    return BackupContent(
      header: plan.header, footer: writer.footer, written: written, repeated: plan.repeated.count,
      isStopped: isStopped, rotten: rotten, references: references, leftOut: plan.leftOut.count)
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
  /// Whether the run was cut and asked to stop: then what it has is not read back, and no other run continues it at once.
  package let isStopped: Bool
  /// How many files have other bytes than before, although their status has not changed.
  package let rotten: Int
  /// How many files are recorded by a reference to a content of an earlier snapshot; further names of a file count once.
  package let references: Int
  /// How many files of sets were not archived.
  package let leftOut: Int
}

extension SnapshotEntry {
  /// Takes the content of another name of the file.
  fileprivate mutating func takeContent(of first: SnapshotEntry) {
    (digest, size, attributes) = (first.digest, first.size, first.attributes)
    (modified, isUnsettled) = (first.modified, first.isUnsettled)
    guard first.isReference else { return }
    firstName = nil
    (archive, userName, groupName) = (first.archive, first.userName, first.groupName)
    member = first.contentName == path ? nil : first.contentName
    baseList = first.baseList
  }
}
