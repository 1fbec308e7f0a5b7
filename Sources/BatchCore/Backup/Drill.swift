import BatchEngine

/// A restore of a part of a snapshot, to see whether it can be restored: each goes on where the one before ended, so that
/// a cycle covers all files.
package final class Drill {
  /// Files that are restored together.
  private static let batchSize = 2000

  package let snapshot: Snapshot
  private let set: BackupSet
  private let run: RunContext
  private let isSynced: Bool
  private var state: DrillState
  /// How many files are still to be drilled.
  package private(set) var remaining: Int

  /// - Parameter share: of the files of the snapshot, above 0 and up to 1.
  package init(_ snapshot: Snapshot, of set: BackupSet, share: Double, isSynced: Bool, in run: RunContext)
    throws(BatchError)
  {
    self.snapshot = snapshot
    self.set = set
    self.run = run
    self.isSynced = isSynced
    state = (try? DrillState(set.drillPath, in: run)) ?? DrillState()
    try SnapshotReader.check(set.path(snapshot.name.manifest), in: run)
    let files = try Self.files(of: snapshot, set, run)
    remaining = min(files, Int((Double(files) * share).rounded(.up)))
  }

  /// Some files with their rows.
  package struct Batch: Sendable {
    package let entries: [SnapshotEntry]
    let last: DrillState.Place
  }

  /// The files that come next; nil when there are enough.
  package func next() throws(BatchError) -> Batch? {
    guard remaining > 0 else { return nil }
    let wanted = min(remaining, Self.batchSize)
    var (entries, last) = try select(wanted, after: state.last)
    if entries.isEmpty { (entries, last) = try select(wanted, after: nil) }
    guard let last else {
      remaining = 0
      return nil
    }
    remaining -= entries.count
    return Batch(entries: entries, last: last)
  }

  /// What restores a batch.
  package func source(of batch: Batch, options: ExtractionOptions) throws(BatchError) -> sending RestoreSource
  {
    let names = Set(batch.entries.map(\.path))
    // What comes back is compared afterwards, and what is wrong with it is told.
    return try RestoreSource(snapshot, of: set, options: options, comparesDigests: false, in: run) {
      names.contains($0.path)
    }
  }

  /// What compares a batch with a folder.
  package func audit(of batch: Batch, live: LiveTree) -> sending AuditSource {
    AuditSource(batch.entries, live: live, in: run)
  }

  /// Remembers that a batch was drilled, and which of its files could not be restored as they were.
  package func finish(_ batch: Batch, damaged: Set<PathBytes>) throws(BatchError) {
    state.last = batch.last
    for entry in batch.entries where damaged.contains(entry.path) { state.suspects.insert(entry.archive) }
    let file = try OutputFile(
      set.drillPath, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    try file.write(state.lines)
    try file.finish()
  }

  private func select(
    _ count: Int, after place: DrillState.Place?
  ) throws(BatchError) -> ([SnapshotEntry], DrillState.Place?) {
    let reader = try SnapshotReader(set.path(snapshot.name.manifest), in: run)
    var source: PathBytes = ""
    var entries = [SnapshotEntry]()
    var last: DrillState.Place?
    while entries.count < count, let item = try reader.next() {
      switch item {
      case .source(let next): source = next.path
      case .entry(let entry, _):
        guard entry.kind == .file, place?.isBefore(source, entry.path) ?? true else { continue }
        entries.append(entry)
        last = DrillState.Place(source: source, path: entry.path)
      }
    }
    return (entries, last)
  }

  private static func files(
    of snapshot: Snapshot, _ set: BackupSet, _ run: RunContext
  ) throws(BatchError) -> Int {
    let reader = try SnapshotReader(set.path(snapshot.name.manifest), in: run)
    var count = 0
    while let item = try reader.next() {
      if case .entry(let entry, _) = item, entry.kind == .file { count += 1 }
    }
    return count
  }
}
