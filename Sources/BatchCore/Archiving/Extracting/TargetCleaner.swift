import BatchEngine

/// Removes files from the target folder after all members were created, and before its folders get their times.
protocol TargetCleaner: Sendable {
  /// - Parameters:
  ///   - isDryRun: whether it is only reported what would be removed.
  ///   - report: receives each removed path.
  /// - Returns: how many paths were removed.
  /// - Throws: the reason when nothing may be removed, or when the run is to stop.
  func clean(
    _ target: ContainedFolder, isDryRun: Bool, in context: CollectorContext,
    report: (ExtractionReport) throws(BatchError) -> Void
  ) throws(BatchError) -> Int
}
