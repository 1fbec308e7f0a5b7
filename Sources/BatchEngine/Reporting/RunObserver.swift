/// Whoever wants to know what happens in a run.
public protocol RunObserver: Sendable {
  /// A path had a problem. Called one at a time, in the order of the results, between those of its neighbours.
  func met(_ problem: Problem, severity: Severity)
}
