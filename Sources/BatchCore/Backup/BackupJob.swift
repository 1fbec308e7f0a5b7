import BatchEngine
import Synchronization

/// The decisions about a backup before it begins.
package struct BackupPlan: Sendable {
  let header: SnapshotHeader
  let archive: ArchiveOptions
  let settling: ChangeSettling
  /// The file selection of the options, as one word.
  let selection: String
  /// The same, for those who read the manifest.
  let filter: SnapshotFilter?
  /// Whether the previous snapshot had another selection.
  let hasOtherSelection: Bool
  /// Whether seemingly unchanged files are read too.
  let readsEverything: Bool
  /// Whether a file whose bytes have changed without its status is archived.
  let acceptsRot: Bool
  /// The recipients of the encryption, as one word.
  let recipients: String
  /// The rows that are not kept, since their content is damaged.
  let damage: DamagedRows
  /// The contents to which rows can refer; nil in a full snapshot, which stores everything.
  let known: KnownContents?
  /// The stamps of archives whose contents are to be stored again.
  let unwanted: Set<String>
  /// The blocks of the large files of the previous snapshot; nil if unknown.
  let blocks: KnownBlocks?
  /// The size of the frames of a large file, in bytes.
  let frameSize: Int
  /// The parts of large files whose contents turned out to be unknown.
  let asked = AskedItems<BackupItem>()
  /// Where the run ends before all sources are walked.
  let cut: RunCut
  /// The place that the snapshot reached which this run continues; nil if it continues none.
  let continued: ReachedPath?
  /// The place up to which an earlier part of the run has counted the files; nil in the first part.
  let counted: ReachedPath?
  /// Counts files that are archived only because they changed shortly before the previous snapshot.
  let repeated = FileCount()
  /// Counts files of sets that are not archived.
  let leftOut = FileCount()

  var stamp: String { header.name.stamp }

  /// Whether a row is not kept although the file has not changed: its content in the archive is damaged, or other names of the file
  /// may have been left out before, or may belong to an unknown row, and an archive must contain all names of a file or none.
  func isDoubtful(_ entry: SnapshotEntry) -> Bool {
    damage.contains(entry) || !unwanted.isEmpty && entry.places.contains { unwanted.contains($0.archive) }
      || entry.linkCount > 1 && entry.kind == .file
        && (hasOtherSelection || continued != nil || entry.linkGroup == nil)
  }
}

/// Counts files in the source, for the summary.
final class FileCount: Sendable {
  private let files = Mutex(0)

  var count: Int { files.withLock { $0 } }

  func add() { files.withLock { $0 += 1 } }
}

/// Archives new and changed files, and writes the manifest of the whole tree.
package struct BackupJob: BatchJob {
  package typealias Item = BackupItem

  private let plan: BackupPlan
  private let outputs: SnapshotOutputs
  private let job: ArchiveJob
  private let report: @Sendable ([ArchivedMember]) throws(BatchError) -> Void

  /// - Parameter report: receives every member that is archived, in the order of the archive.
  init(
    _ plan: BackupPlan, _ outputs: SnapshotOutputs,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) {
    self.plan = plan
    self.outputs = outputs
    self.report = report
    job = ArchiveJob(plan.archive, output: outputs.archiveStream, settling: plan.settling, report: report)
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> BackupWorker {
    BackupWorker(
      try job.makeWorker(in: context, sharing: ()), try DigestStream(.sha256),
      try ContentProbe(plan.settling),
      plan)
  }

  package func add(_ row: BackupRow, in context: WorkerContext, to rows: inout [BackupRow]) {
    rows.append(row)
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) throws(BatchError)
    -> sending BackupCollector
  {
    try BackupCollector(plan, in: context, job: job, outputs: outputs, report: report)
  }
}

/// A result of a backup, in the order of the tree.
package enum BackupRow: Sendable {
  /// The following rows belong to another source.
  case source(SnapshotSource)
  /// Rows of paths that have not changed since the previous snapshot.
  case kept(KeptRows)
  /// A path whose member follows in the rows of the archive.
  case planned(PlannedRow)
  /// A file with a content of the previous snapshot.
  case reference(SnapshotEntry)
  /// A further name of a file that has a row for its first name.
  case further(PlannedRow)
  /// A large file with an unknown content, whose rows follow as `late` ones, after other rows.
  case unknown(ProbedFile, ChangedBlocks?)
  /// - Parameter isLast: whether these are the last rows of the file.
  indirect case late(ProbedFile, [BackupRow], isLast: Bool)
  case archived(ArchiveRow)
  /// A file whose content has changed although its status has not. Its row follows.
  case rotten(PathBytes)
  /// A mount point below the source, which has content.
  case mount(PathBytes)
}

/// Archives on one lane.
package final class BackupWorker: BatchWorker {
  package typealias Item = BackupItem

  private let worker: ArchiveWorker
  /// The rows of the chunk from the archive's worker.
  private var rows: [ArchiveRow] = []
  /// The large file of which the chunk is a part, and whether it is the last part.
  private var late: (file: ProbedFile, isLast: Bool)?
  private let digests: DigestStream
  private let probe: ContentProbe
  private let owners = OwnerNames()
  private let plan: BackupPlan

  init(_ worker: ArchiveWorker, _ digests: DigestStream, _ probe: ContentProbe, _ plan: BackupPlan) {
    (self.plan, self.worker, self.digests, self.probe) = (plan, worker, digests, probe)
  }

  package func begin(_ chunk: Chunk<Item>, in context: WorkerContext, into output: inout [BackupRow]) {
    rows.removeAll()
    late = nil
    worker.begin(expecting: chunk.items.reduce(0) { $0 + ($1.archived?.plainSize ?? 0) })
  }

  package func process(
    _ item: Item, in context: WorkerContext, into output: inout [BackupRow]
  ) throws(BatchError) {
    switch item {
    case .mount(let path):
      if MountFinder.mayBeMissing(path, context.calls) { output.append(.mount(path)) }
    case .archive(let item, let row): try archive(item, row: row, in: context, into: &output)
    case .further(let row): output.append(.further(row))
    case .probe(let file): output.append(try row(of: file, in: context))
    case .late(let file, let item, let row, let isLast):
      late = (file, isLast)
      try archive(item, row: row, in: context, into: &output)
    case .check(let record, let item, let row, let before, let line):
      guard let digest = try digests.digest(of: record, in: context)?.digest else { return }
      let isRotten = digest != before.digest
      if isRotten { output.append(.rotten(record.path)) }
      guard isRotten ? plan.acceptsRot : plan.header.isFull else {
        var kept = KeptRows()
        kept.append(before, line: line)
        output.append(.kept(kept))
        return
      }
      guard plan.known == nil || !item.isFurtherName else { return output.append(.further(row)) }
      try archive(item, row: row, in: context, into: &output)
    }
  }

  private func archive(
    _ item: ArchiveItem, row: PlannedRow?, in context: WorkerContext, into output: inout [BackupRow]
  ) throws(BatchError) {
    let hasMember = try worker.process(item, numbered: row?.number ?? 0, in: context, into: &rows)
    if hasMember, let row { output.append(.planned(row)) }
  }

  package func end(in context: WorkerContext, into output: inout [BackupRow]) throws(BatchError) {
    if let known = plan.known {
      // Members have the order of their rows.
      var index = 0
      var chunk = output
      try worker.end(in: context, into: &rows) { [self] (member) throws(BatchError) in
        while index < chunk.count {
          defer { index += 1 }
          guard case .planned(let row) = chunk[index], row.number == member.number else { continue }
          guard let reference = try reference(of: member, row.entry, among: known) else { return false }
          chunk[index] = .reference(reference)
          return true
        }
        return false
      }
      output = chunk
    } else {
      try worker.end(in: context, into: &rows)
    }
    output += rows.map { .archived($0) }
    if let late { output = [.late(late.file, output, isLast: late.isLast)] }
    rows.removeAll()
  }

  // MARK: Known contents

  /// The row of a file that was read for the archive, if its content is known.
  private func reference(
    of member: ArchivedMember, _ planned: SnapshotEntry, among known: KnownContents
  ) throws(BatchError) -> SnapshotEntry? {
    guard member.kind == .file, member.size > 0, let digest = member.digest,
      member.flags.isDisjoint(with: .incomplete),
      let found = try known.row(
        size: member.size, digest: digest, attributes: member.attributes, inode: planned.inode)
    else { return nil }
    var entry = planned
    entry.take(member)
    refer(&entry, to: found)
    return entry
  }

  /// The row of a large file that is read first.
  private func row(of file: ProbedFile, in context: WorkerContext) throws(BatchError) -> BackupRow {
    guard let known = plan.known else { return .unknown(file, nil) }
    let before = try earlier(than: file)
    if before == nil, try !known.mayHave(size: file.size) { return .unknown(file, nil) }
    let hashes = before.flatMap { before in
      plan.blocks.map { BlockHashes(seed: $0.seed, blockSize: before.blocks.list.blockSize) }
    }
    guard let content = try probe.read(file, hashes, in: context) else { return .unknown(file, nil) }
    var entry = file.row.entry
    (entry.digest, entry.attributes) = (content.digest, content.attributes)
    entry.isUnsettled = !content.isSettled
    if let digest = content.digest,
      let found = try known.row(
        size: file.size, digest: digest, attributes: content.attributes, inode: entry.inode)
    {
      refer(&entry, to: found)
      context.count(bytes: Int(clamping: ArchiveItem.storedSize(of: file.record)))
      context.finish()
      return .reference(entry)
    }
    guard let before, let list = content.blocks else { return .unknown(file, nil) }
    setOwner(of: &entry)
    let changed = ChangedBlocks(
      file, entry, since: before, list, stamp: plan.stamp, frameSize: plan.frameSize
    ) { name in
      (try? context.withFolder(of: file.record) { (folder) throws(BatchError) in
        try context.calls.status(of: PathBytes(name), in: folder, followingLinks: false)
      }) != nil
    }
    return .unknown(file, changed)
  }

  /// The version of a file in the previous snapshot, with its blocks; nil if they cannot be compared.
  private func earlier(
    than file: ProbedFile
  ) throws(BatchError) -> (entry: SnapshotEntry, blocks: BlocksRecord)? {
    guard let entry = file.before,
      let record = try plan.blocks?.record(at: entry.place, size: entry.size),
      record.list.isComparable(with: file.size)
    else { return nil }
    return (entry, record)
  }

  /// Completes a row with the place of its content, and with the names of the owner, which no member has.
  private func refer(_ entry: inout SnapshotEntry, to found: SnapshotEntry) {
    entry.archive = found.archive
    entry.member = found.contentName == entry.path ? nil : found.contentName
    entry.baseList = found.baseList
    setOwner(of: &entry)
  }

  private func setOwner(of entry: inout SnapshotEntry) {
    entry.userName = PathBytes(owners.user(entry.owner))
    entry.groupName = PathBytes(owners.group(entry.group))
  }
}

extension SnapshotEntry {
  /// Takes the values of the member of the file.
  mutating func take(_ member: ArchivedMember) {
    // Nil for a file with very large holes.
    digest = member.digest
    size = member.size
    attributes = member.attributes
    // In the last second before 1970 the archive has no fraction, but the next backup compares the whole time.
    if modified.seconds != -1 || member.modified.seconds != -1 { modified = member.modified }
    isUnsettled = !member.isSettled || member.flags.contains(.changed)
  }
}
