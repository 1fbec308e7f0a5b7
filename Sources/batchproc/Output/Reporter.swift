import BatchCore

/// Tells people or programs what happens in a run.
protocol Reporter: RunObserver {
  /// An error that ends the run or spoils an output.
  func fatal(_ error: BatchError)
  /// The end of the run.
  func summary(_ summary: RunSummary, text: SummaryText)
}
