import BatchCore
import BatchEngine
import Dispatch
import Synchronization

/// Collects the results of a run for its report.
final class RunRecorder: Sendable {
  private struct State {
    var facts: RunFacts
    /// The totals of earlier runs.
    var before = (files: 0, bytes: Int64(0))
    var followed: RunContext?
  }

  /// At this number of samples, every second one is dropped, and the interval is doubled.
  static let mostSamples = 256
  static let mostChanges = 100
  static let mostFatal = 20
  private static let firstInterval = 10

  private let stopwatch: Stopwatch
  private let state: Mutex<State>
  private let queue = DispatchQueue(label: "batchproc.report")
  private let timer: RepeatingTimer

  /// Takes no samples before ``begin()``.
  init(_ invocation: Invocation, stopwatch: Stopwatch = Stopwatch()) {
    state = Mutex(State(facts: RunFacts(invocation: invocation)))
    self.stopwatch = stopwatch
    timer = RepeatingTimer(on: queue)
    timer.handle { [weak self] in self?.sample() }
  }

  func begin() {
    sample()
    schedule(Self.firstInterval)
  }

  /// Follows this run from now on; the totals of the previous run are kept.
  func follow(_ run: RunContext) {
    state.withLock { state in
      if let progress = state.followed?.counters.progress {
        state.before.files += progress.files
        state.before.bytes.addClamped(progress.bytes)
      }
      state.followed = run
    }
  }

  func sample() {
    let time = stopwatch.seconds
    let isFull = state.withLock { state in
      guard let run = state.followed else { return false }
      let progress = run.counters.progress
      let concurrency = run.concurrency
      var bytes = state.before.bytes
      bytes.addClamped(progress.bytes)
      state.facts.samples.append(
        .init(
          time: time, files: state.before.files + progress.files, bytes: bytes,
          allowed: concurrency.isSuspended ? 0 : concurrency.current, running: concurrency.runningCount))
      guard state.facts.samples.count >= Self.mostSamples else { return false }
      let kept = state.facts.samples.enumerated().filter { $0.offset.isMultiple(of: 2) }
      state.facts.samples = kept.map(\.element)
      return true
    }
    if isFull { schedule(Int(min(time * 1000 / Double(Self.mostSamples / 2), 86_400_000))) }
  }

  private func schedule(_ milliseconds: Int) {
    timer.schedule(every: .milliseconds(max(Self.firstInterval, milliseconds)))
  }

  func met(_ problem: Problem, severity: Severity) {
    guard severity != .note else { return }
    state.withLock { state in
      let remarks = severity == .failure ? \RunFacts.failures : \.warnings
      state.facts[keyPath: remarks].add(problem.error.path, Self.text(of: problem.error))
    }
  }

  func found(_ path: PathBytes, _ text: String) { state.withLock { $0.facts.findings.add(path, text) } }

  func changed(_ change: ConcurrencyChange) {
    let time = stopwatch.seconds
    state.withLock { state in
      state.facts.changeCount += 1
      guard state.facts.changes.count < Self.mostChanges else { return }
      state.facts.changes.append(.init(time: time, change: change))
    }
  }

  func fatal(_ error: BatchError) {
    state.withLock {
      guard $0.facts.fatal.count < Self.mostFatal, !$0.facts.fatal.contains(error) else { return }
      $0.facts.fatal.append(error)
    }
  }

  func summary(_ summary: RunSummary, text: SummaryText) {
    state.withLock {
      $0.facts.counts = summary.counts
      $0.facts.summary = text
    }
  }

  /// Ends the sampling.
  ///
  /// - Parameter run: its options and counts are used if there was no summary.
  func finish(_ ending: Ending, _ run: RunContext, _ times: FileTimes?) -> RunFacts {
    timer.stop()
    queue.sync {}
    sample()
    return state.withLock { state in
      state.followed = nil
      state.facts.seconds = stopwatch.seconds
      state.facts.ending = ending
      if state.facts.summary == nil { state.facts.counts = run.counters.snapshot }
      state.facts.slowestFiles = times?.slowestFiles ?? []
      state.facts.slowestFolders = times?.slowestFolders ?? []
      state.facts.limits = Self.limits(of: run)
      return state.facts
    }
  }

  static func text(of error: BatchError) -> String {
    error.systemMessage.map { "\(error.message): \($0)" } ?? error.message
  }

  private static func limits(of run: RunContext) -> [(name: String, value: String)] {
    let options = run.options
    let concurrency =
      options.mostConcurrency.map { "auto, \(options.concurrency) at first, \($0) at most" }
      ?? "\(options.concurrency)"
    let stride =
      "\(ByteCount.grouped(options.stride.count)) at most"
      + (options.stride.byteCount == .max ? "" : ", or \(ByteCount.text(options.stride.byteCount))")
    return [
      ("Operations at once", concurrency), ("Files per operation", stride),
      (
        "Processors",
        Decimals.text(options.processors, options.processors == options.processors.rounded() ? 0 : 1)
      ),
      ("Memory for buffers", ByteCount.text(Int64(options.memory))),
      ("File descriptors", ByteCount.grouped(options.descriptors)),
    ]
  }
}
