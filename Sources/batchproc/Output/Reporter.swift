import BatchCore
import BatchEngine

/// Tells people or programs what happens in a run.
protocol Reporter: RunObserver {
  /// An error that ends the run or spoils an output.
  func fatal(_ error: BatchError)
  /// Tells how many problems were counted in place of a message each; to be called before the process ends.
  func tellFolded()
  /// The end of the run.
  func summary(_ summary: RunSummary, text: SummaryText)
}

extension Reporter {
  func tellFolded() {}
}
