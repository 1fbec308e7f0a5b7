import Synchronization

/// What a run has counted so far; any thread may add.
///
/// At the end of a run that was not cancelled, `seen` is the sum of `done`, `failed` and `skipped`.
public final class Counters: Sendable {
  /// The counts at one moment.
  public struct Snapshot: Sendable, Hashable {
    /// Paths that the walk or the list yielded.
    public var seen = 0
    /// Files that were processed.
    public var done = 0
    /// Paths that could not be processed; each was named.
    public var failed = 0
    /// Paths that the policies pass over: special, vanished.
    public var skipped = 0
    /// How many of the skipped paths are special, by kind; kinds that there were none of are not in it.
    public var skippedKinds: [FileStatus.Kind: Int] = [:]
    /// Bytes that were read from files.
    public var byteCount: Int64 = 0
    /// Operands that do not exist; also counted as failed.
    public var missing = 0
    /// Files that were processed although they changed meanwhile; also counted as done.
    public var changed = 0

    public init() {}
  }

  private let seen = Atomic<Int>(0)
  private let done = Atomic<Int>(0)
  private let failed = Atomic<Int>(0)
  private let skipped = Atomic<Int>(0)
  private let byteCount = Atomic<Int64>(0)
  private let missing = Atomic<Int>(0)
  private let changed = Atomic<Int>(0)
  private let skippedKinds = Mutex<[FileStatus.Kind: Int]>([:])

  public init() {}

  public var snapshot: Snapshot {
    var snapshot = Snapshot()
    snapshot.done = done.load(ordering: .relaxed)
    snapshot.failed = failed.load(ordering: .relaxed)
    snapshot.skipped = skipped.load(ordering: .relaxed)
    snapshot.byteCount = byteCount.load(ordering: .relaxed)
    snapshot.missing = missing.load(ordering: .relaxed)
    snapshot.changed = changed.load(ordering: .relaxed)
    snapshot.skippedKinds = skippedKinds.withLock { $0 }
    // Last, so that a look in between never shows more done than seen.
    snapshot.seen = seen.load(ordering: .relaxed)
    return snapshot
  }

  func addSeen(_ count: Int) { seen.add(count, ordering: .relaxed) }
  package func addDone() { done.add(1, ordering: .relaxed) }
  /// Turns a file that was counted as done into a failed one.
  package func withdrawDone() {
    done.subtract(1, ordering: .relaxed)
    addFailed()
  }

  package func addFailed() { failed.add(1, ordering: .relaxed) }
  /// - Parameter kind: of a special path.
  package func addSkipped(_ kind: FileStatus.Kind? = nil) {
    skipped.add(1, ordering: .relaxed)
    if let kind { skippedKinds.withLock { $0[kind, default: 0] += 1 } }
  }

  /// Counts a path that could not be processed.
  package func count(_ problem: Problem, _ severity: Severity) {
    if severity == .failure { addFailed() } else { addSkipped(problem.kind) }
    if problem.event == .missing { addMissing() }
  }

  func addMissing() { missing.add(1, ordering: .relaxed) }
  package func addChanged() { changed.add(1, ordering: .relaxed) }
  package func addBytes(_ count: Int) { byteCount.add(Int64(count), ordering: .relaxed) }
}
