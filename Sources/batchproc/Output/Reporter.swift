import BatchCore
import BatchEngine

/// Reports to people or programs what happens in a run.
protocol Reporter: RunObserver {
  /// An error that ends the run or spoils an output.
  func fatal(_ error: BatchError)
  /// A run that makes no progress, and the files that it is at, the oldest first. Called on a queue of its own.
  func stalled(at files: [FileInProgress], seconds: Double)
  /// The rules that matched no path in a run that reached its end, in their order; before its summary.
  func unmatched(_ rules: [GivenRule])
  /// The result of a run that reached its end.
  func summary(_ summary: RunSummary, text: SummaryText)
  /// Writes what is still to be said; to be called once, before the process ends.
  ///
  /// - Parameter counts: of the run, for a summary that was not written.
  func end(_ counts: Counters.Snapshot)
}
