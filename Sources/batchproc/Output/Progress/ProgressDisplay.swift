import BatchCore
import BatchEngine
import Synchronization
import class Foundation.Operation

/// Shows the progress of a run: a line at the bottom of a terminal, or occasional lines.
final class ProgressDisplay: Sendable {
  private struct State {
    var bar = ProgressBar()
    var plain = ProgressPlain()
    // Rows that go through a pipe may appear on the same terminal; most such runs are short.
    var pacer = UpdatePacer(first: StandardStreams.isPipe(.output) ? 1 : 0)
    var window = ProgressWindow()
    var isEnded = false
  }

  /// The terminal shows `^C` after the line, which must not wrap into the next row.
  private static let margin = 3

  private let mode: ProgressMode
  private let diagnostics: Diagnostics
  private let counters: Counters
  private let total: ResultOperation<Counters.Snapshot>?
  private let pause: @Sendable () -> String?
  private let start = ContinuousClock.now
  private let state = Mutex(State())
  private let sampler = Mutex<ProgressSampler?>(nil)

  /// - Parameters:
  ///   - mode: not `auto`.
  ///   - total: counts the total work during the run; nil if it cannot be known.
  ///   - pause: why the run is paused now; nil if it is not.
  init(
    mode: ProgressMode, diagnostics: Diagnostics, counters: Counters,
    total: ResultOperation<Counters.Snapshot>?, pause: @escaping @Sendable () -> String?
  ) {
    self.mode = mode
    self.diagnostics = diagnostics
    self.counters = counters
    self.total = total
    self.pause = pause
    // Even if nothing is shown: a signal may request the state.
    sampler.withLock {
      $0 = ProgressSampler(everyMilliseconds: 200) { [weak self] in self?.update(adding: Int(clamping: $0)) }
    }
  }

  func add(_ count: Int) {
    sampler.withLock { $0 }?.add(count)
  }

  /// Prints the state now, in any mode, and below it the files in progress.
  func printNow(_ concurrency: String, _ files: [FileInProgress]) {
    var now = current()
    // The text of the concurrency says it.
    now.pause = nil
    diagnostics.print((now.parts(at: now.fraction).all + [concurrency]).joined(separator: ", "))
    for line in FilesInProgressText.lines(files) { diagnostics.print(line) }
  }

  /// Removes the line; nothing is shown afterwards.
  func end(isComplete: Bool) {
    if mode == .plain, isComplete {
      var last = current()
      last.isFinished = true
      last.pause = nil
      // The last line covers the whole run.
      last.recent = nil
      if let line = state.withLock({ $0.plain.line(for: last) }) { diagnostics.print(line) }
    }
    total?.cancel()
    let sampler = sampler.withLock { $0.take() }
    sampler?.stop()
    state.withLock { $0.isEnded = true }
    if mode == .bar { diagnostics.show(status: []) }
  }

  private func update(adding files: Int) {
    let now = current(adding: files)
    state.withLock { state in
      guard !state.isEnded else { return }
      switch mode {
      case .bar:
        guard state.pacer.admits(at: now.elapsed) else { return }
        diagnostics.show(status: state.bar.render(now, width: StandardStreams.columns - Self.margin))
      case .plain:
        if let line = state.plain.line(for: now) { diagnostics.print(line) }
      case .auto, .none: break
      }
    }
  }

  /// - Parameter files: the files finished since the last call.
  private func current(adding files: Int = 0) -> ProgressState {
    let counts = counters.snapshot
    var bytes = counts.byteCount
    bytes.addClamped(counters.pending)
    let all = try? total?.value()
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    let pause = pause()
    let recent = state.withLock { state in
      state.window.add(files: files, bytes: bytes, at: elapsed, isPaused: pause != nil)
      return state.window.work
    }
    return ProgressState(
      filesDone: counts.done + counts.failed + counts.skipped + counters.staged, filesTotal: all?.seen,
      bytesDone: bytes, bytesTotal: all?.byteCount,
      elapsed: elapsed, recent: recent, pause: pause)
  }
}

/// Decides when a run without a terminal reports its progress: every 10 %, or after 60 s of silence. A pause is reported when it
/// begins, and then once a minute; pauses that follow within a minute are not.
struct ProgressPlain: Sendable {
  private static let stepsInAll = 10
  private static let silence = 60.0

  private var stepsTold = 0
  private var toldAt = 0.0
  private var pauseToldAt: Double?
  private var shown = 0.0

  /// The line to print now, without its end; nil when it is not yet time.
  mutating func line(for state: ProgressState) -> String? {
    if let fraction = state.fraction { shown = max(shown, fraction) }
    // Only a finished run is at 100 %.
    let steps =
      state.isFinished ? Self.stepsInAll : min(Self.stepsInAll - 1, Int(shown * Double(Self.stepsInAll)))
    let isPauseDue =
      state.pause != nil && (pauseToldAt.map { state.elapsed - $0 >= ProgressPlain.silence } ?? true)
    guard steps > stepsTold || isPauseDue || state.elapsed - toldAt >= ProgressPlain.silence else {
      return nil
    }
    if state.pause != nil { pauseToldAt = state.elapsed }
    stepsTold = max(stepsTold, steps)
    toldAt = state.elapsed
    let known = state.fraction.map { _ in shown }
    let percent = known.map { "\(state.isFinished ? 100 : min(99, Int($0 * 100))) %: " } ?? ""
    return percent + state.parts(at: known).all.joined(separator: ", ")
  }
}

/// Limits the number of updates a second.
struct UpdatePacer: Sendable {
  /// The time between two updates, in seconds.
  private let interval: Double
  /// The earliest time of the first update, in seconds.
  private let first: Double
  private var last: Double?

  init(perSecond: Double = 5, first: Double = 0) {
    self.interval = 1 / perSecond
    self.first = first
  }

  /// - Parameter now: seconds by a monotonic clock.
  mutating func admits(at now: Double) -> Bool {
    guard now >= first else { return false }
    if let last, now - last < interval { return false }
    last = now
    return true
  }
}
