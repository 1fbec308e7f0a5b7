/// Whoever wants to know what happens in a run.
public protocol RunObserver: Sendable {
  /// A path had a problem. Called one at a time, in the order of the results.
  func met(_ problem: Problem, severity: Severity)

  /// The same for one that was met while a chunk was processed: it is told before the results of the chunk
  /// are collected.
  ///
  /// - Parameter results: how many results of the chunk belong before it.
  func met(_ problem: Problem, severity: Severity, behind results: Int)

  /// All results of a chunk have been collected.
  func collected()
}

extension RunObserver {
  public func met(_ problem: Problem, severity: Severity, behind results: Int) {
    met(problem, severity: severity)
  }

  public func collected() {}
}
