import BatchEngine
import Synchronization

/// The page about the run.
extension Session {
  /// Follows a further part of the run, whose files and bytes count in the report.
  func follow(_ part: RunContext) { recorder?.follow(part) }

  /// Records a difference that the command has found, for the report.
  func found(_ path: PathBytes, _ text: @autoclosure () -> String) {
    if let recorder { recorder.found(path, text()) }
  }

  /// Writes the report, if requested.
  ///
  /// - Returns: the same ending, or that of an incomplete output if the report cannot be written.
  func report(_ ending: Ending) -> Ending {
    guard let report = report.withLock({ $0.take() }) else { return ending }
    do throws(BatchError) {
      try report.write(ending, context, fileTimes)
      return ending
    } catch {
      diagnostics.report(error)
      return ending.isWorse(than: .outputIncomplete) ? ending : .exit(.outputIncomplete)
    }
  }
}
