/// The result of a run.
public struct RunSummary: Sendable {
  public let counts: Counters.Snapshot
  /// Why the run stopped before its end; nil if it reached the end.
  public let stopped: BatchError?
  /// The duration of the run, by a monotonic clock.
  public let elapsed: Duration
  /// Operations at once when the run ended; nil if the options fixed the number.
  public let concurrency: Int?
  /// Whether the run stopped before all items of its source were done, failed or skipped. Also true if all were, but the source
  /// had not reported its end yet.
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

/// The outcome of a run that has ended.
public struct RunOutcome<Result: Sendable>: Sendable {
  public let summary: RunSummary
  /// The collector's result; nil when the run stopped before its end.
  public let result: Result?
}
