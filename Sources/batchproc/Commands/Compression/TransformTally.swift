import BatchCore
import BatchEngine
import BatchOutputs
import Synchronization

/// Holds back messages about outputs that one message about the target may replace.
final class TransformTally: RunObserver {
  private struct Counts {
    var gaps = CheckGapCounts()
    /// Whether an output was made, or one was found up to date.
    var hasOutput = false
  }

  /// Messages about folders in which no output can be created. They wait until an output is made: if none is made at all, one
  /// message about the target replaces them.
  private struct Refusals {
    var first: BatchError?
    var held: [(problem: Problem, severity: Severity)] = []
    var areHeld: Bool
  }

  private static let mostHeld = 1000

  private let reporter = Mutex<(any RunObserver)?>(nil)
  private let counts = Mutex(Counts())
  private let refusals: Mutex<Refusals>

  /// - Parameter namesEach: whether every message is passed on at once.
  init(namesEach: Bool) {
    refusals = Mutex(Refusals(areHeld: !namesEach))
  }

  /// The observer for the session, before its reporter.
  func observing(_ reporter: any RunObserver) -> any RunObserver {
    self.reporter.withLock { $0 = reporter }
    return self
  }

  /// What the reports about decompressed files say about their checks.
  var gaps: CheckGapCounts { counts.withLock { $0.gaps } }

  func changed(_ change: ConcurrencyChange) { reporter.withLock { $0 }?.changed(change) }

  func met(_ problem: Problem, severity: Severity) {
    if !hold(problem, severity) { pass(problem, severity) }
  }

  /// Records that an output was made in the target, so that each folder without one is reported.
  func madeOutput() {
    let isFirst = counts.withLock { counts in
      defer { counts.hasOutput = true }
      return !counts.hasOutput
    }
    if isFirst { passOn() }
  }

  func passOn() {
    let held = refusals.withLock { refusals in
      defer {
        refusals.areHeld = false
        refusals.held = []
      }
      return refusals.held
    }
    for (problem, severity) in held { pass(problem, severity) }
  }

  private func pass(_ problem: Problem, _ severity: Severity) {
    reporter.withLock { $0 }?.met(problem, severity: severity)
  }

  /// Why no output could be made, if the target is the reason; nil if one was made.
  func refusal(of target: PathBytes?) -> BatchError? {
    guard !counts.withLock({ $0.hasOutput }), let first = refusals.withLock({ $0.first }) else { return nil }
    return BatchError(
      .unwritable, "no output could be written", path: target ?? first.path, errno: first.errno,
      remedy: first.remedy)
  }

  /// - Returns: whether the message waits.
  private func hold(_ problem: Problem, _ severity: Severity) -> Bool {
    guard problem.error.isOfTarget else { return false }
    let (isHeld, isFull) = refusals.withLock { refusals in
      refusals.first = refusals.first ?? problem.error
      guard refusals.areHeld else { return (false, false) }
      refusals.held.append((problem, severity))
      return (true, refusals.held.count >= Self.mostHeld)
    }
    if isFull { passOn() }
    return isHeld
  }

  func add(_ report: TransformReport) {
    switch report.outcome {
    case .written, .upToDate, .linked, .copied, .planned: madeOutput()
    case .compressedAlready, .notSmaller: break
    }
    if let gap = report.checkGap { counts.withLock { $0.gaps.add(gap) } }
  }
}
