import BatchCore
import BatchEngine
import Synchronization
import var Glibc.EDQUOT
import var Glibc.EIO
import var Glibc.ENOSPC
import var Glibc.EROFS

/// Writes messages to standard error.
///
/// A failed device causes one message for each of its files: the first ``mostOfOneCause`` are printed, and the others are
/// counted.
final class TextReporter: Reporter {
  /// The common cause of messages that are folded into a count.
  private struct Cause: Hashable {
    let error: BatchError
    let severity: Diagnostics.Severity
  }

  static let mostOfOneCause = 20

  let diagnostics: Diagnostics
  /// Reports failures and warnings, and no summary.
  let isQuiet: Bool
  /// Reports notes too, and every message.
  let isVerbose: Bool
  /// The number of messages for each cause, in the order in which the causes first occurred.
  private let causes = Mutex<[(cause: Cause, count: Int)]>([])

  private let wasChanged = Atomic<Bool>(false)

  /// Started with the command, before the first file is opened.
  private let stopwatch: Stopwatch
  private let recorder: RunRecorder?
  private let slowest: FileTimes?

  /// - Parameters:
  ///   - recorder: receives all events too.
  ///   - slowest: the slowest files, listed below the summary.
  init(
    diagnostics: Diagnostics, isQuiet: Bool, isVerbose: Bool, stopwatch: Stopwatch = Stopwatch(),
    recorder: RunRecorder? = nil, slowest: FileTimes? = nil
  ) {
    self.recorder = recorder
    self.slowest = slowest
    self.diagnostics = diagnostics
    self.stopwatch = stopwatch
    self.isQuiet = isQuiet
    self.isVerbose = isVerbose
  }

  func met(_ problem: Problem, severity: Severity) {
    recorder?.met(problem, severity: severity)
    switch severity {
    case .failure: report(problem.error, as: .error)
    case .warning: report(problem.error, as: .warning)
    case .note: if isVerbose { diagnostics.report(problem.error, as: .note) }
    }
  }

  func changed(_ change: ConcurrencyChange) {
    recorder?.changed(change)
    wasChanged.store(true, ordering: .relaxed)
    if isVerbose { diagnostics.report(change.text, as: .note) }
  }

  func unmatched(_ rules: [GivenRule]) {
    guard !isQuiet else { return }
    for text in UnmatchedRules.texts(rules) {
      diagnostics.report(BatchError(.missing, text), as: .warning)
    }
  }

  func fatal(_ error: BatchError) {
    recorder?.fatal(error)
    tellFolded()
    diagnostics.report(error)
  }

  func stalled(at files: [FileInProgress], seconds: Double) {
    diagnostics.print(warning: FilesInProgressText.stall(files, seconds: seconds))
  }

  func end(_ counts: Counters.Snapshot) { tellFolded() }

  /// Reports how many problems were counted without a message of their own.
  func tellFolded() {
    let folded = causes.withLock { causes in
      defer { causes = [] }
      return causes
    }
    for (cause, count) in folded where count > Self.mostOfOneCause {
      let error = cause.error
      let more = "\(ByteCount.grouped(count - Self.mostOfOneCause)) more: \(error.message)"
      diagnostics.report(
        BatchError(error.code, more, errno: error.errno, remedy: error.remedy), as: cause.severity)
    }
  }

  func summary(_ summary: RunSummary, text: SummaryText) {
    tellFolded()
    recorder?.summary(summary, text: text)
    guard !isQuiet else { return }
    var line = text.line(seconds: stopwatch.seconds)
    if wasChanged.load(ordering: .relaxed), let number = summary.concurrency {
      line += ", -j \(number) at the end"
    }
    diagnostics.print(line)
    for line in slowest?.lines ?? [] { diagnostics.print(line) }
  }

  private func report(_ error: BatchError, as severity: Diagnostics.Severity) {
    if isVerbose || !Self.isOfDevice(error) || isAmongFirst(error, severity) {
      diagnostics.report(error, as: severity)
    }
  }

  private func isAmongFirst(_ error: BatchError, _ severity: Diagnostics.Severity) -> Bool {
    let cause = Cause(
      error: BatchError(error.code, error.message, errno: error.errno, remedy: error.remedy),
      severity: severity)
    return causes.withLock { causes in
      guard let index = causes.firstIndex(where: { $0.cause == cause }) else {
        causes.append((cause, 1))
        return true
      }
      causes[index].count += 1
      return causes[index].count <= Self.mostOfOneCause
    }
  }

  /// Whether an error is likely to affect everything on the same device.
  private static func isOfDevice(_ error: BatchError) -> Bool {
    [EIO, ENOSPC, EDQUOT, EROFS].contains(error.errno)
  }
}
