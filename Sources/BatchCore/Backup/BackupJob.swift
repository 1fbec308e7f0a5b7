import BatchEngine
import BatchOutputs
import Synchronization

/// What was decided about a backup before it begins.
package struct BackupPlan: Sendable {
  let header: SnapshotHeader
  let archive: ArchiveOptions
  let settling: ChangeSettling
  /// What chooses among the files, as one word.
  let selection: String
  /// Whether the snapshot before chose among the files in another way.
  let hasOtherSelection: Bool
  /// Whether files are read that seem not to have changed.
  let readsEverything: Bool
  /// For whom it is encrypted, as one word.
  let recipients: String
  /// Counts what is archived only since it changed shortly before the snapshot before.
  let repeated = RepeatedFiles()

  var stamp: String { header.name.stamp }

  /// Whether a row is not taken over although the file has not changed: names of it may have been left out before, or be
  /// those of another row that is not known, and an archive holds all names of a file or none.
  func isDoubtful(_ entry: SnapshotEntry) -> Bool {
    entry.linkCount > 1 && entry.kind == .file && (hasOtherSelection || entry.linkGroup == nil)
  }
}

/// Counts files that are archived although they are as they were: a later change could have had the same time.
final class RepeatedFiles: Sendable {
  private let files = Mutex(0)

  var count: Int { files.withLock { $0 } }

  func add() { files.withLock { $0 += 1 } }
}

/// Archives what is new or changed, and writes the manifest of the whole tree beside it.
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

  package func makeWorker(in context: WorkerContext) throws(BatchError) -> BackupWorker {
    BackupWorker(try job.makeWorker(in: context), try DigestStream(.sha256))
  }

  package func makeCollector(in context: CollectorContext) throws(BatchError) -> sending BackupCollector {
    try BackupCollector(plan, context, job, outputs, report)
  }
}

/// A result of a backup, in the order of the tree.
package enum BackupRow: Sendable {
  case source(SnapshotSource)
  case kept(KeptRows)
  /// A path whose member comes among the rows of the archive, if it can be archived.
  case planned(SnapshotEntry, isLarge: Bool)
  case archived(ArchiveRow)
  /// A file whose bytes are others while its status says that nothing changed.
  case rotten(PathBytes)
  /// All members of the chunk are there, but a large file whose blocks follow.
  case end
}

/// Archives on one lane; what has not changed passes through.
package final class BackupWorker: BatchWorker {
  package typealias Item = BackupItem

  private let worker: ArchiveWorker
  /// Of the chunk, as the archive's worker makes them.
  private var rows: [ArchiveRow] = []
  private let digests: DigestStream

  init(_ worker: ArchiveWorker, _ digests: DigestStream) {
    self.worker = worker
    self.digests = digests
  }

  package func begin(_ chunk: Chunk<Item>, in context: WorkerContext, into output: inout [BackupRow]) {
    rows.removeAll()
    worker.begin(
      expecting: chunk.items.reduce(0) { size, item in
        switch item {
        case .source, .kept: size
        case .archive(let item, _), .check(_, let item, _, _, _): size + item.plainSize
        }
      })
  }

  package func process(
    _ item: Item, in context: WorkerContext, into output: inout [BackupRow]
  ) throws(BatchError) {
    switch item {
    case .source(let source): output.append(.source(source))
    case .kept(let kept): output.append(.kept(kept))
    case .archive(let item, let entry):
      if let entry {
        let isLarge = if case .header = item { true } else { false }
        output.append(.planned(entry, isLarge: isLarge))
      }
      try worker.process(item, in: context, into: &rows)
    case .check(let record, let item, let entry, let before, let line):
      guard let digest = try digests.digest(of: record, in: context) else { return }
      guard digest != before.digest else {
        var kept = KeptRows()
        kept.append(before, line: line)
        output.append(.kept(kept))
        return
      }
      output.append(.rotten(entry.path))
      output.append(.planned(entry, isLarge: false))
      try worker.process(item, in: context, into: &rows)
    }
  }

  package func end(in context: WorkerContext, into output: inout [BackupRow]) throws(BatchError) {
    try worker.end(in: context, into: &rows)
    output += rows.map { .archived($0) }
    output.append(.end)
    rows.removeAll()
  }
}
