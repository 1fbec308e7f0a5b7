import BatchEngine
import BatchOutputs

/// A trial restore of a part of a snapshot. Each drill continues where the previous one ended, so that a cycle covers all
/// files.
///
/// The part is a share of the files in the order of the manifest. If these have less than that share of the bytes, large files
/// follow, which have their own cycle: a sample of empty files would prove nothing.
package final class Drill {
  /// Files that are restored together.
  private static let portionSize = 2000
  /// The bytes of a batch, unless one file alone has more.
  private static let portionBytes: UInt64 = 1 << 28

  package let snapshot: Snapshot
  private let set: BackupSet
  private let run: RunContext
  private let isSynced: Bool
  private var state: DrillState
  /// Nil if there is no place for it.
  private let statePath: PathBytes?
  package let total: Amount
  /// The amount that is still to be drilled.
  private var remaining: Amount
  /// Large files that were drilled in their own cycle.
  private var large: Set<PathBytes> = []
  /// Whether all files are drilled and none has differed so far.
  private var provesAll: Bool

  /// A number of files and their bytes.
  package struct Amount: Sendable, Hashable {
    package var files = 0
    package var bytes: UInt64 = 0

    /// The mean size, in bytes.
    var mean: UInt64 { files > 0 ? bytes / UInt64(files) : 0 }

    mutating func add(_ entry: SnapshotEntry) {
      files += 1
      bytes += min(entry.size, .max - bytes)
    }

    mutating func remove(_ other: Amount) {
      files -= min(files, other.files)
      bytes -= min(bytes, other.bytes)
    }
  }

  /// - Parameter share: the share of the snapshot's files and bytes, above 0 and up to 1.
  package static func prepare(
    _ snapshot: Snapshot, of set: BackupSet, share: Double, isSynced: Bool, in run: RunContext
  ) throws(BatchError) -> Drill {
    try Drill(snapshot, of: set, share: share, isSynced: isSynced, in: run)
  }

  private init(_ snapshot: Snapshot, of set: BackupSet, share: Double, isSynced: Bool, in run: RunContext)
    throws(BatchError)
  {
    self.snapshot = snapshot
    self.set = set
    self.run = run
    self.isSynced = isSynced
    statePath = set.drillPath(isEncrypted: snapshot.name.isEncrypted)
    state = try statePath.map { (path) throws(BatchError) in try DrillState(path) } ?? DrillState()
    try SnapshotReader.check(set.manifest(of: snapshot.name), in: SourceContext(run))
    total = try Self.amount(of: snapshot, set, run)
    let bytes = (Double(total.bytes) * share).rounded(.up)
    remaining = Amount(
      files: min(total.files, Int((Double(total.files) * share).rounded(.up))),
      bytes: min(total.bytes, UInt64(exactly: bytes) ?? .max))
    provesAll = remaining.files == total.files
  }

  package var isComplete: Bool { remaining.files == 0 && remaining.bytes == 0 }

  /// Some files with their rows.
  package struct Portion: Sendable {
    package let entries: [SnapshotEntry]
    package fileprivate(set) var amount = Amount()
    fileprivate var isOfLarge = false
    fileprivate var last: DrillState.Place?
  }

  /// The next files; nil when the share is reached.
  package func next() throws(BatchError) -> Portion? {
    if remaining.files > 0 {
      if let portion = try select(isOfLarge: false) {
        large.formUnion(portion.entries.filter(isLarge).map(\.path))
        remaining.remove(portion.amount)
        return portion
      }
    }
    if remaining.bytes > 0 {
      if let portion = try select(isOfLarge: true) {
        large.formUnion(portion.entries.map(\.path))
        remaining.remove(portion.amount)
        return portion
      }
    }
    remaining = Amount()
    return nil
  }

  package func reader(of portion: Portion, options: ExtractionOptions) throws(BatchError)
    -> sending RestoreReader
  {
    let names = Set(portion.entries.map(\.path))
    // The restored files are compared afterwards, and differences are reported.
    return try RestoreReader.prepare(
      snapshot, of: set, options: options, comparesDigests: false, in: SourceContext(run)
    ) {
      names.contains($0.path)
    }
  }

  /// - Parameter isRestored: whether the folder contains the restored files, and not those that were backed up.
  package func audit(of portion: Portion, live: LiveTree, isRestored: Bool) -> sending AuditSource {
    AuditSource(portion.entries, live: live, isRestored: isRestored)
  }

  /// Remembers that a portion was drilled.
  ///
  /// - Parameters:
  ///   - damaged: its files that were not restored correctly.
  ///   - undrilled: its files that could not be restored for lack of space, or not read, so that their state is unknown.
  package func finish(_ portion: Portion, damaged: Set<PathBytes>, undrilled: Set<PathBytes>)
    throws(BatchError)
  {
    // A verification may have recorded damage meanwhile.
    if let statePath {
      let places = (state.last, state.lastLarge)
      state = try DrillState(statePath)
      (state.last, state.lastLarge) = places
    }
    if portion.isOfLarge { state.lastLarge = portion.last } else { state.last = portion.last }
    for entry in portion.entries where !undrilled.contains(entry.path) {
      state.note(entry.path, in: entry.archive, isDamaged: damaged.contains(entry.path))
    }
    provesAll = provesAll && damaged.isEmpty && undrilled.isEmpty
    // The snapshot contains all files of its archive.
    if provesAll, remaining.files == 0 { state.forget(snapshot.name.stamp) }
    guard let statePath else { return }
    try state.write(to: statePath, isPrivate: snapshot.name.isEncrypted, isSynced: isSynced, in: run)
  }

  private func isLarge(_ entry: SnapshotEntry) -> Bool { entry.size > 0 && entry.size >= total.mean }

  /// The files after those that were drilled last, or the first ones.
  private func select(isOfLarge: Bool) throws(BatchError) -> Portion? {
    if let portion = try select(after: isOfLarge ? state.lastLarge : state.last, isOfLarge: isOfLarge) {
      return portion
    }
    return try select(after: nil, isOfLarge: isOfLarge)
  }

  /// - Returns: nil when no file follows.
  private func select(after place: DrillState.Place?, isOfLarge: Bool) throws(BatchError) -> Portion? {
    let reader = try SnapshotReader(set.manifest(of: snapshot.name), in: SourceContext(run))
    let most = isOfLarge ? Self.portionSize : min(remaining.files, Self.portionSize)
    let bytes = isOfLarge ? min(remaining.bytes, Self.portionBytes) : Self.portionBytes
    var source: PathBytes = ""
    var entries = [SnapshotEntry]()
    var amount = Amount()
    var last: DrillState.Place?
    while entries.count < most, amount.bytes < bytes, let item = try reader.next() {
      switch item {
      case .source(let next): source = next.path
      case .entry(let entry, _):
        guard entry.kind == .file, place?.isBefore(source, entry.path) ?? true else { continue }
        if isOfLarge {
          guard isLarge(entry), !large.contains(entry.path) else { continue }
        }
        entries.append(entry)
        amount.add(entry)
        last = DrillState.Place(source: source, path: entry.path)
      }
    }
    return entries.isEmpty ? nil : Portion(entries: entries, amount: amount, isOfLarge: isOfLarge, last: last)
  }

  private static func amount(
    of snapshot: Snapshot, _ set: BackupSet, _ run: RunContext
  ) throws(BatchError) -> Amount {
    let reader = try SnapshotReader(set.manifest(of: snapshot.name), in: SourceContext(run))
    var amount = Amount()
    while let item = try reader.next() {
      if case .entry(let entry, _) = item, entry.kind == .file { amount.add(entry) }
    }
    return amount
  }
}
