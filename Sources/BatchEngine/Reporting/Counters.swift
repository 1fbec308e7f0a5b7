import Synchronization

/// Why a path was skipped: there was nothing to do for it, or the options exclude it.
public enum SkipReason: Sendable, Hashable {
  /// FIFO, socket, device or symbolic link: nothing to read.
  case special(FileStatus.Kind)
  /// Left out by a filter, an ignore file or its size.
  case filtered
  /// Listed, but no longer there when it was opened.
  case vanished
  /// Changed, unreadable or special, and the policy allows that.
  case permitted(Problem.Event)
  /// The output exists and is as new as its source.
  case upToDate
  case compressedAlready
  /// Its output would not be smaller.
  case notSmaller
  /// Its name has no suffix of a known format, or its content is not of a known format.
  case unknownFormat
  /// A further name of a file that got no output under its first one.
  case withoutFirst
  /// Too many files had failed before.
  case notStarted
  /// It was named before by another operand.
  case repeated
  /// A file exists and is not replaced.
  case kept
  /// A later member of the archive has its name.
  case superseded
  /// This member of the archive is not selected, or its path is empty after stripping.
  case notChosen
  /// Missing, and the options allow that.
  case ignored
  /// A line of a manifest that is text, not a row.
  case text
}

/// The counts of a run so far; any thread may add.
///
/// At the end of a run that was not cancelled, `seen` is the sum of `done`, `failed` and `skipped`.
public final class Counters: Sendable {
  /// The counts at one moment.
  public struct Snapshot: Sendable, Hashable {
    /// Paths that the walk or the list yielded.
    public var seen = 0
    /// Files that were processed.
    public var done = 0
    /// Paths that could not be processed; each was reported.
    public var failed = 0
    /// Paths that were skipped; see ``reasons``.
    public var skipped = 0
    /// Why paths were skipped; the counts add up to ``skipped``.
    public var reasons: [SkipReason: Int] = [:]
    /// Bytes that were read from files.
    public var byteCount: Int64 = 0
    /// Operands that do not exist; also counted as failed.
    public var missing = 0
    /// Paths that are missing or could not be read; also counted as failed.
    public var unavailable = 0
    /// Files that were processed although they changed while they were read; also counted as done.
    public var changed = 0
    /// Reported outputs whose bytes could not be stored, because of missing space or a device error.
    package var spoilt = 0
    /// Reported outputs that could not be created: the file system is read-only, or the permission is missing.
    package var refused = 0

    public init() {}
  }

  private let seen = Atomic<Int>(0)
  private let done = Atomic<Int>(0)
  private let failed = Atomic<Int>(0)
  private let byteCount = Atomic<Int64>(0)
  private let pendingBytes = Atomic<Int64>(0)
  private let missing = Atomic<Int>(0)
  private let unavailable = Atomic<Int>(0)
  private let changed = Atomic<Int>(0)
  private let spoilt = Atomic<Int>(0)
  private let refused = Atomic<Int>(0)
  private let stagedOutputs = Atomic<Int>(0)
  private let safe = Atomic<Int>(0)
  private let reasons = Mutex<[SkipReason: Int]>([:])

  public init() {}

  public var snapshot: Snapshot {
    var snapshot = Snapshot()
    snapshot.done = done.load(ordering: .relaxed)
    snapshot.failed = failed.load(ordering: .relaxed)
    snapshot.byteCount = bytes
    snapshot.missing = missing.load(ordering: .relaxed)
    snapshot.unavailable = unavailable.load(ordering: .relaxed)
    snapshot.changed = changed.load(ordering: .relaxed)
    snapshot.spoilt = spoilt.load(ordering: .relaxed)
    snapshot.refused = refused.load(ordering: .relaxed)
    snapshot.reasons = reasons.withLock { $0 }
    snapshot.skipped = snapshot.reasons.values.reduce(0, +)
    // Read last, so that a snapshot never shows more paths done than seen.
    snapshot.seen = seen.load(ordering: .relaxed)
    return snapshot
  }

  /// Finished paths and bytes read, to measure the speed of a run.
  package var progress: (files: Int, bytes: Int64) {
    (done.load(ordering: .relaxed) + failed.load(ordering: .relaxed), bytes)
  }

  /// Paths that were done, failed or skipped at the last checkpoint: when nothing was in progress, and the collector had
  /// committed all complete outputs.
  package var safeCount: Int { safe.load(ordering: .relaxed) }

  func noteCheckpoint() {
    let counts = snapshot
    safe.store(counts.done + counts.failed + counts.skipped, ordering: .relaxed)
  }

  /// Complete outputs whose sources are not counted yet, because they have no name or an earlier source is not finished.
  package var staged: Int { stagedOutputs.load(ordering: .relaxed) }
  package func addStaged(_ count: Int) { stagedOutputs.add(count, ordering: .relaxed) }

  func addSeen(_ count: Int) { seen.add(count, ordering: .relaxed) }
  /// Counts a processed file; for a collector that decides when a file is done.
  public func addDone(_ count: Int = 1) { done.add(count, ordering: .relaxed) }
  /// Turns a file that was counted as done into a failed one.
  package func withdrawDone() {
    done.subtract(1, ordering: .relaxed)
    addFailed()
  }

  package func addFailed() { failed.add(1, ordering: .relaxed) }
  package func addSkipped(_ reason: SkipReason, _ count: Int = 1) {
    reasons.withLock { $0[reason, default: 0] += count }
  }

  /// Counts paths that the options left out before they were seen.
  func addFiltered(_ count: Int) {
    guard count > 0 else { return }
    addSeen(count)
    addSkipped(.filtered, count)
  }

  package func count(_ problem: Problem, _ severity: Severity) {
    if severity == .failure {
      addFailed()
      if problem.event == .missing || problem.error.errno != 0 { unavailable.add(1, ordering: .relaxed) }
    } else {
      addSkipped(problem.skipReason)
    }
    if problem.event == .missing { addMissing() }
  }

  /// Counts a problem with an output that is reported.
  func note(_ problem: Problem) {
    guard problem.error.code == .unwritable else { return }
    if problem.error.isOfOutput { spoilt.add(1, ordering: .relaxed) }
    if problem.error.isOfTarget { refused.add(1, ordering: .relaxed) }
  }

  func addMissing() { missing.add(1, ordering: .relaxed) }
  package func addChanged() { changed.add(1, ordering: .relaxed) }
  /// Bytes that were read for unfinished blocks of large files; used only to show progress.
  package var pending: Int64 { max(0, pendingBytes.load(ordering: .relaxed)) }
  /// Adds bytes of a block that was read; ``addBytes(ofBlock:)`` counts them when it is done.
  func addPending(_ count: Int) { pendingBytes.wrappingAdd(Int64(count), ordering: .relaxed) }
  package func addBytes(ofBlock count: Int) {
    addBytes(count)
    pendingBytes.wrappingSubtract(Int64(count), ordering: .relaxed)
  }
  /// The count stays at the largest number, since sparse files can have any size.
  package func addBytes(_ count: Int) {
    let sum = byteCount.wrappingAdd(Int64(count), ordering: .relaxed).newValue
    if sum < 0 { byteCount.store(.max, ordering: .relaxed) }
  }

  private var bytes: Int64 {
    let bytes = byteCount.load(ordering: .relaxed)
    // Another thread is about to store the largest number.
    return bytes < 0 ? .max : bytes
  }

  /// Removes paths and bytes after the result at which a run ended early, so that the counts do not depend on how far the lanes
  /// were ahead.
  ///
  /// - Parameter bytes: read up to that result.
  package func end(bytes: Int) {
    byteCount.store(Int64(bytes), ordering: .relaxed)
    let snapshot = snapshot
    seen.store(snapshot.done + snapshot.failed + snapshot.skipped, ordering: .relaxed)
  }
}

extension Problem {
  /// The skip reason for a path that is skipped because of this problem.
  package var skipReason: SkipReason {
    switch event {
    case .special: .special(kind ?? .unknown)
    case .vanished: .vanished
    case .changed, .unreadable, .missing, .malformed: .permitted(event)
    }
  }
}
