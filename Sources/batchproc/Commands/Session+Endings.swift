import BatchCore
import BatchEngine
import var Glibc.SIGPIPE

/// How a command ends.
extension Session {
  /// The ending of a run that was stopped; nil when it was not.
  ///
  /// - Parameters:
  ///   - done: text for the results, if these are not only files.
  ///   - advised: adds advice to the reason.
  func endingOfStopped(
    _ summary: RunSummary, done: String? = nil, advised: (BatchError) -> BatchError = { $0 }
  ) -> Ending? {
    guard let reason = summary.stopped else { return nil }
    if let ending = endingBySignal {
      if !common.quiet, !common.json {
        diagnostics.report(Self.interruption(summary, done: done, resumes: resumes), as: .note)
      }
      return ending
    }
    return ending(after: advised(reason))
  }

  /// `interrupted: 62 files done, 21 skipped; run again to continue`. The three counts add up to what the progress showed.
  static func interruption(_ summary: RunSummary, done: String? = nil, resumes: Bool) -> String {
    let counts = summary.counts
    let others = counts.unprocessed
    return "interrupted: \(done ?? ByteCount.files(counts.done)) done"
      + others.filter { $0.0 > 0 }.map { ", \(ByteCount.grouped($0.0)) \($0.1)" }.joined()
      + (resumes && summary.leavesItems ? "; run again to continue" : "")
  }

  /// How a command ends after its call: reports why its outputs are incomplete, or the summary.
  ///
  /// - Parameters:
  ///   - writesOutput: whether standard output received results that are not complete yet.
  ///   - done: text for the results of a run that was stopped, if these are not only files.
  ///   - conclude: reports the result and returns the summary; called for a run that reached its end.
  ///   - advise: gives advice after the summary.
  func ending<Result>(
    _ outcome: CallOutcome<Result>, writesOutput: Bool = true, done: String? = nil,
    conclude: (Result) throws(BatchError) -> SummaryText, advise: (Result) -> Void = { _ in }
  ) -> Ending {
    if let ending = endingOfStopped(outcome.summary, done: done) { return ending }
    do throws(BatchError) {
      if let failure = outcome.failure { throw failure }
      guard let result = outcome.result else { return .exit(.fatal) }
      if writesOutput, !outcome.verdict.contains(.nothing) { try output.finish() }
      reporter.summary(outcome.summary, text: try conclude(result))
      advise(result)
      return .exit(ExitStatus(outcome.verdict))
    } catch {
      return ending(after: error)
    }
  }

  /// The ending of a command that reached this one by itself: a signal at any time comes first, then whatever else stopped the
  /// rest of it, such as a summary that could not be written.
  func ending(replacing ending: Ending) -> Ending {
    if let ending = endingBySignal { return ending }
    guard case .exit(let status) = ending, let reason = cancellation.reason else { return ending }
    let isReplaced =
      switch status {
      case .success, .budgetReached, .someFailed: true
      // Damage can stop a part of a run, and has this status.
      case .differences: reason.code == .closedOutput || reason.code == .unwritable
      default: reason.code == .closedOutput
      }
    return isReplaced ? self.ending(after: reason) : ending
  }

  /// Reports the error that ends a run, and returns its ending; a run ends silently by a signal, and if the reader has closed the
  /// output.
  func ending(after error: BatchError) -> Ending {
    if error.code == .cancelled, let ending = endingBySignal { return ending }
    if error.code == .closedOutput { return .signal(SIGPIPE) }
    stall.claimMessage()
    reporter.fatal(error)
    return .exit(ExitStatus(error))
  }

  /// Reports that an input is not what it should be, and returns the ending.
  func difference(_ error: BatchError) -> Ending {
    reporter.fatal(error)
    return .exit(.differences)
  }

  /// Reports a damaged input, or a file of the wrong kind.
  ///
  /// - Throws: any other error.
  func ending(ofDamaged error: BatchError) throws(BatchError) -> Ending {
    guard error.code == .malformed else { throw error }
    return difference(error)
  }

  /// How the command ends if the run was stopped or its rows are incomplete, which was reported; nil if a summary must follow.
  func endingBeforeSummary(_ summary: RunSummary) -> Ending? {
    if let ending = endingOfStopped(summary) { return ending }
    do throws(BatchError) {
      try output.finish()
      return nil
    } catch {
      return ending(after: error)
    }
  }
}
