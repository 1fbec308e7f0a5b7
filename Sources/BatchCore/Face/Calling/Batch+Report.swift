import BatchEngine

extension Batch {
  /// The result of a call. The facts of its job are in ``details``, whose members can be read directly: `report.written`.
  @dynamicMemberLookup
  public struct Report<Details: Sendable>: Sendable {
    /// Paths by result: each path that was seen is done, failed or skipped.
    public let counts: Counters.Snapshot
    /// The time from the beginning to the end, measured by a clock that is never set back.
    public let elapsed: Duration
    /// Whether the task was cancelled before all work was done. The outputs made until then are complete, and are counted.
    public let isCancelled: Bool
    /// Why paths failed, in the order of the results, at most ``Settings/mostListed``; `counts.failed` has their number.
    public let failures: [Problem]
    /// Problems that cause only a warning, because the path was processed; in the same order and with the same limit as
    /// ``failures``.
    public let warnings: [Problem]
    public let details: Details

    /// A member of the ``details``.
    public subscript<Value>(dynamicMember member: KeyPath<Details, Value>) -> Value {
      details[keyPath: member]
    }
  }
}
