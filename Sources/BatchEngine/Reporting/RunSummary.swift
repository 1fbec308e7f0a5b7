/// The result of a run.
public struct RunSummary: Sendable {
  public let counts: Counters.Snapshot
  /// Why the run stopped before its end; nil when it reached it.
  public let stopped: BatchError?
  /// By a clock that is never set back.
  public let elapsed: Duration
  /// Operations at once when the run ended; nil where the options fixed the number.
  public let concurrency: Int?
  /// Whether the run stopped before all items of its source were done, failed or skipped. Also true where all were, and
  /// the source had not yet said that there are no more.
  public let leavesItems: Bool

  public init(
    counts: Counters.Snapshot, stopped: BatchError?, elapsed: Duration, concurrency: Int? = nil,
    leavesItems: Bool = false
  ) {
    self.concurrency = concurrency
    self.leavesItems = leavesItems
    self.counts = counts
    self.stopped = stopped
    self.elapsed = elapsed
  }
}

/// A run that has ended.
public struct RunOutcome<Result: Sendable>: Sendable {
  public let summary: RunSummary
  /// What the collector made of it; nil when the run stopped before its end.
  public let result: Result?
}
