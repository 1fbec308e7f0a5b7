import BatchEngine

extension Batch {
  /// The result of a call. What only its job knows are the ``details``, whose members can be had directly: `report.written`.
  @dynamicMemberLookup
  public struct Report<Details: Sendable>: Sendable {
    /// Paths by what became of them: those that were seen are done, failed or skipped.
    public let counts: Counters.Snapshot
    /// By a clock that is never set back.
    public let elapsed: Duration
    /// Whether the task was cancelled before all was done. What was made by then is whole, and is counted.
    public let isCancelled: Bool
    /// Why paths failed, in the order of the results, at most ``Settings/mostListed``; `counts.failed` has their number.
    public let failures: [Problem]
    /// What is odd and did not keep a path from being processed, as ``failures``.
    public let warnings: [Problem]
    public let details: Details

    /// A member of the ``details``.
    public subscript<Value>(dynamicMember member: KeyPath<Details, Value>) -> Value {
      details[keyPath: member]
    }
  }
}
