import BatchEngine
import Synchronization

/// The decisions about a backup before it begins.
package struct BackupPlan: Sendable {
  let header: SnapshotHeader
  let archive: ArchiveOptions
  let settling: ChangeSettling
  /// The file selection of the options, as one word.
  let selection: String
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
  /// Counts files that are archived only because they changed shortly before the previous snapshot.
  let repeated = FileCount()
  /// Counts files of sets that are not archived.
  let leftOut = FileCount()

  var stamp: String { header.name.stamp }

  /// Whether a row is not kept although the file has not changed: its content in the archive is damaged, or other names of the file
  /// may have been left out before, or may belong to an unknown row, and an archive must contain all names of a file or none.
  func isDoubtful(_ entry: SnapshotEntry) -> Bool {
    damage.contains(entry)
      || entry.linkCount > 1 && entry.kind == .file && (hasOtherSelection || entry.linkGroup == nil)
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
      try job.makeWorker(in: context, sharing: ()), try DigestStream(.sha256), plan)
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
  private let digests: DigestStream
  private let plan: BackupPlan

  init(_ worker: ArchiveWorker, _ digests: DigestStream, _ plan: BackupPlan) {
    self.plan = plan
    self.worker = worker
    self.digests = digests
  }

  package func begin(_ chunk: Chunk<Item>, in context: WorkerContext, into output: inout [BackupRow]) {
    rows.removeAll()
    worker.begin(
      expecting: chunk.items.reduce(0) { size, item in
        switch item {
        case .mount: size
        case .archive(let item, _), .check(_, let item, _, _, _): size + item.plainSize
        }
      })
  }

  package func process(
    _ item: Item, in context: WorkerContext, into output: inout [BackupRow]
  ) throws(BatchError) {
    switch item {
    case .mount(let path):
      if MountFinder.mayBeMissing(path, context.calls) { output.append(.mount(path)) }
    case .archive(let item, let row): try archive(item, row: row, in: context, into: &output)
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
    try worker.end(in: context, into: &rows)
    output += rows.map { .archived($0) }
    rows.removeAll()
  }
}
