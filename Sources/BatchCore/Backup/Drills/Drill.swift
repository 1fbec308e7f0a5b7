import BatchEngine
import BatchOutputs

/// A trial restore of a part of a snapshot. Each drill continues where the previous one ended, so that a cycle covers all
/// files.
///
/// The part is a share of the files in the order of the manifest. If these have less than that share of the bytes, large files
/// follow, which have their own cycle: a sample of empty files would prove nothing.
package final class Drill {
  /// Files that are restored together.
  ///
  /// The index of an archive is searched for each portion, so that larger ones take less time. A file takes about 1 KB of memory.
  private static let portionSize = 40_000
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
  /// How many links and FIFOs are still to be drilled.
  private var remainingOthers: Int
  private var cursors: [Cycle: Cursor] = [:]
  private let isOfAll: Bool
  /// Whether all files are drilled and none has differed so far.
  private var provesAll: Bool

  /// What is drilled in an order of its own.
  fileprivate enum Cycle { case files, large, others }

  /// The place in the manifest after the last portion of a cycle.
  private struct Cursor {
    let reader: SnapshotReader
    var source: PathBytes = ""
    /// The last file of the previous drill, until a later one is reached.
    var place: DrillState.Place?
  }

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
    let found = try Self.amount(of: snapshot, set, run)
    total = found.files
    remainingOthers = share == 1 ? found.others : 0
    let bytes = (Double(total.bytes) * share).rounded(.up)
    remaining = Amount(
      files: min(total.files, Int((Double(total.files) * share).rounded(.up))),
      bytes: min(total.bytes, UInt64(exactly: bytes) ?? .max))
    isOfAll = remaining.files == total.files
    provesAll = isOfAll
  }

  package var isComplete: Bool { remaining.files == 0 && remaining.bytes == 0 && remainingOthers == 0 }

  /// Some files with their rows.
  package struct Portion: Sendable {
    package fileprivate(set) var entries: [SnapshotEntry] = []
    package fileprivate(set) var amount = Amount()
    fileprivate let cycle: Cycle
    fileprivate var last: DrillState.Place?

    /// Whether it has links and FIFOs, and no files.
    package var isOfOthers: Bool { cycle == .others }
  }

  /// The next files; after all files of a snapshot its links and FIFOs; nil when the share is reached.
  package func next() throws(BatchError) -> Portion? {
    if remaining.files > 0 {
      if let portion = try select(.files) {
        // If all files are drilled, no large ones follow.
        if !isOfAll { large.formUnion(portion.entries.filter(isLarge).map(\.path)) }
        remaining.remove(portion.amount)
        return portion
      }
    }
    if remaining.bytes > 0 {
      if let portion = try select(.large) {
        large.formUnion(portion.entries.map(\.path))
        remaining.remove(portion.amount)
        return portion
      }
    }
    remaining = Amount()
    guard remainingOthers > 0, let portion = try read(.others) else { return nil }
    remainingOthers -= min(remainingOthers, portion.entries.count)
    return portion
  }

  package func reader(of portion: Portion, options: ExtractionOptions) throws(BatchError)
    -> sending RestoreReader
  {
    // The restored files are compared afterwards, and differences are reported.
    try RestoreReader.prepare(
      portion.entries, of: snapshot, in: set, options: options, comparesDigests: false, in: SourceContext(run)
    )
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
    switch portion.cycle {
    case .files: state.last = portion.last
    case .large: state.lastLarge = portion.last
    case .others: break
    }
    for entry in portion.entries where !undrilled.contains(entry.path) {
      state.note(entry.contentName, in: entry.archive, isDamaged: damaged.contains(entry.path))
    }
    provesAll = provesAll && damaged.isEmpty && undrilled.isEmpty
    // The snapshot contains all files of its archive.
    if provesAll, remaining.files == 0, remainingOthers == 0 { state.forget(snapshot.name.stamp) }
    guard let statePath else { return }
    try state.write(to: statePath, isPrivate: snapshot.name.isEncrypted, isSynced: isSynced, in: run)
  }

  private func isLarge(_ entry: SnapshotEntry) -> Bool { entry.size > 0 && entry.size >= total.mean }

  /// The files after those that were drilled last, or the first ones.
  private func select(_ cycle: Cycle) throws(BatchError) -> Portion? {
    if let portion = try read(cycle) { return portion }
    cursors[cycle] = Cursor(reader: try rows())
    return try read(cycle)
  }

  private func rows() throws(BatchError) -> SnapshotReader {
    try SnapshotReader(set.manifest(of: snapshot.name), in: SourceContext(run))
  }

  /// - Returns: nil when no file follows.
  private func read(_ cycle: Cycle) throws(BatchError) -> Portion? {
    let former = cycle == .files ? state.last : cycle == .large ? state.lastLarge : nil
    var cursor = if let known = cursors[cycle] { known } else { Cursor(reader: try rows(), place: former) }
    defer { cursors[cycle] = cursor }
    let most = cycle == .files ? min(remaining.files, Self.portionSize) : Self.portionSize
    let bytes = cycle == .large ? min(remaining.bytes, Self.portionBytes) : Self.portionBytes
    var portion = Portion(cycle: cycle)
    while portion.entries.count < most, portion.amount.bytes < bytes, let item = try cursor.reader.next() {
      switch item {
      case .source(let next): cursor.source = next.path
      case .entry(let entry, _):
        guard isOf(cycle, entry), cursor.place?.isBefore(cursor.source, entry.path) ?? true else { continue }
        cursor.place = nil
        portion.entries.append(entry)
        if cycle != .others { portion.amount.add(entry) }
        portion.last = DrillState.Place(source: cursor.source, path: entry.path)
      }
    }
    return portion.entries.isEmpty ? nil : portion
  }

  private func isOf(_ cycle: Cycle, _ entry: SnapshotEntry) -> Bool {
    switch cycle {
    case .files: entry.kind == .file
    case .large: entry.kind == .file && isLarge(entry) && !large.contains(entry.path)
    case .others: Self.isOther(entry)
    }
  }

  private static func amount(
    of snapshot: Snapshot, _ set: BackupSet, _ run: RunContext
  ) throws(BatchError) -> (files: Amount, others: Int) {
    let reader = try SnapshotReader(set.manifest(of: snapshot.name), in: SourceContext(run))
    var found = (files: Amount(), others: 0)
    while let item = try reader.next() {
      guard case .entry(let entry, _) = item else { continue }
      if entry.kind == .file { found.files.add(entry) } else if isOther(entry) { found.others += 1 }
    }
    return found
  }

  private static func isOther(_ entry: SnapshotEntry) -> Bool {
    entry.kind == .symbolicLink || entry.kind == .fifo
  }
}
