import Synchronization

/// What a collector may do in a run: count, report, commit outputs, and end the run.
///
/// It cannot read or decode the content of files. It stays valid until the collector is finished or discarded.
public struct CollectorContext: Sendable {
  let run: RunContext

  init(_ run: RunContext) {
    self.run = run
  }

  /// Lets the collector commit, link and remove.
  package var commits: CommitRight { CommitRight() }

  public var options: BatchOptions { run.options }

  /// The counts of the run. The collector counts what workers do not count.
  public var counters: Counters { run.counters }

  package var cancellation: Cancellation { run.cancellation }

  package var concurrency: ConcurrencyLimit { run.concurrency }
  package var calls: any FileSystemCalls { run.calls }
  package var folders: FolderOpener { run.folders }

  /// - Throws: the reason, when the run is to stop.
  public func checkCancellation() throws(BatchError) { try run.cancellation.check() }

  /// Records how many results the collector keeps until others arrive. If there are many, only items that it requested are
  /// admitted.
  package func note(kept count: Int) { run.keptResults.store(count, ordering: .relaxed) }

  /// Makes the source and the workers begin no further items. For a collector that discards all further results; the run then
  /// ends normally.
  package func end() { run.end() }

  /// Waits until `count` descriptors of the run's budget are free, runs `body`, and frees them. For outputs that the
  /// collector opens.
  public func withDescriptors<Result, Failure: Error>(
    _ count: Int, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try run.descriptors.withDescriptors(count, body)
  }

  /// Reports a problem to the observer without counting it.
  public func report(_ problem: Problem, severity: Severity) {
    run.report(problem, severity: severity)
  }

  /// Reports that a path could not be processed, and counts it as the policy says.
  ///
  /// - Returns: the severity.
  @discardableResult
  public func report(_ problem: Problem) -> Severity {
    let severity = run.options.policy.severity(of: problem.event)
    run.counters.count(problem, severity)
    run.report(problem, severity: severity)
    return severity
  }
}
