/// Receives what happens in a run.
public protocol RunObserver: Sendable {
  /// A path had a problem. Called one at a time, in the order of the results.
  func met(_ problem: Problem, severity: Severity)

  /// The number of operations was changed. Called at any time, also while ``met(_:severity:)`` runs.
  func changed(_ change: ConcurrencyChange)
}

extension RunObserver {
  public func changed(_ change: ConcurrencyChange) {}
}
