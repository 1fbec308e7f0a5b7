/// What a run came to.
public struct RunSummary: Sendable {
  public let counts: Counters.Snapshot
  /// Why the run stopped before its end; nil when it reached it.
  public let stopped: BatchError?
  /// By a clock that is never set back.
  public let elapsed: Duration

  public init(counts: Counters.Snapshot, stopped: BatchError?, elapsed: Duration) {
    self.counts = counts
    self.stopped = stopped
    self.elapsed = elapsed
  }
}
