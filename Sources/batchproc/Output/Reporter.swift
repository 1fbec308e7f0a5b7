import BatchCore
import BatchEngine

/// Reports the events of a run to users or programs.
protocol Reporter: RunObserver {
  /// An error that ends the run or makes an output invalid.
  func fatal(_ error: BatchError)
  /// A run without progress, and the files that it is processing, the oldest first. Called on a separate queue.
  func stalled(at files: [FileInProgress], seconds: Double)
  /// The rules that matched no path in a run that reached its end, in their order; before its summary.
  func unmatched(_ rules: [GivenRule])
  /// The result of a run that reached its end.
  func summary(_ summary: RunSummary, text: SummaryText)
  /// Writes the remaining messages. Called once, before the process ends.
  ///
  /// - Parameter counts: the counts of the run, for a summary that was not written.
  func end(_ counts: Counters.Snapshot)
}
