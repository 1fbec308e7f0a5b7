import BatchEngine
import BatchOutputs
import Dispatch
import Synchronization
import class Foundation.Operation

/// One call of ``Batch``: connects the task that waits for it with the run and the progress.
///
/// All work is done on the queue of the call and on the threads of the run; the waiting task blocks no thread.
final class BatchCall<Details: Sendable>: CallWatch, Sendable {
  typealias Report = Batch.Report<Details>

  private struct State {
    var run: RunContext?
    var share: DescriptorShare?
    var total: ResultOperation<Counters.Snapshot>?
  }

  let settings: Batch.Settings
  let cancellation: Cancellation
  /// The details of the report.
  private let details: Mutex<Details>
  private let problems: ProblemLists
  private let progress: Batch.Progress?
  private let queue = DispatchQueue(label: "batchproc.call")
  private let state = Mutex(State())
  private let start = ContinuousClock.now
  private let resume: @Sendable (Result<Report, BatchError>) -> Void

  private init(
    _ settings: Batch.Settings, progress: Batch.Progress?, details: Details,
    cancellation: Cancellation, resume: @escaping @Sendable (Result<Report, BatchError>) -> Void
  ) {
    self.settings = settings
    self.progress = progress
    self.details = Mutex(details)
    self.cancellation = cancellation
    self.resume = resume
    problems = ProblemLists(most: settings.mostListed)
  }

  /// Makes a call, and waits for its end without blocking a thread.
  ///
  /// - Parameters:
  ///   - details: the details of an empty report.
  ///   - body: runs the call; called on the queue of the call.
  /// - Throws: the error of `body`.
  static func perform(
    _ settings: Batch.Settings, progress: Batch.Progress?, details: Details,
    _ body: @escaping @Sendable (BatchCall) throws(BatchError) -> Void
  ) async throws(BatchError) -> Report {
    let cancellation = Cancellation()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<Report, BatchError>, Never>) in
        BatchCall(settings, progress: progress, details: details, cancellation: cancellation) {
          continuation.resume(returning: $0)
        }
        .begin(body)
      }
    } onCancel: {
      cancellation.cancel(BatchError(.cancelled, "the task was cancelled"))
    }
    return try result.get()
  }

  private func begin(_ body: @escaping @Sendable (BatchCall) throws(BatchError) -> Void) {
    queue.async {
      do throws(BatchError) {
        try self.cancellation.check()
        try body(self)
        self.end(nil)
      } catch {
        self.end(error)
      }
    }
  }

  /// Changes the details of the report.
  func note<Value: Sendable>(_ change: (inout Details) -> Value) -> Value { details.withLock { change(&$0) } }

  /// Adds a remark about the input to the warnings of the report.
  func warn(_ error: BatchError) { problems.met(Problem(.unreadable, error), severity: .warning) }

  /// Adds an input that could not be processed to the failures of the report.
  func fail(_ error: BatchError) { problems.met(Problem(.unreadable, error), severity: .failure) }

  // MARK: On the queue of the call

  /// Runs a call over some paths.
  ///
  /// - Parameters:
  ///   - report: receives what the call reports, one call at a time, in the order of the input.
  ///   - following: the call that continues a finished one over the same paths; nil after the last one.
  /// - Returns: the outcome of the last call. Its counts are those of all calls.
  /// - Throws: why the run could not begin or was stopped, or why its outputs could not be completed.
  @discardableResult
  func run<C: Call>(
    _ call: C, _ paths: [PathBytes], _ walk: WalkOptions = WalkOptions(),
    report: @escaping @Sendable (C.Report) throws(BatchError) -> Void,
    following: (C.Result) -> C? = { _ in nil }
  ) throws(BatchError) -> CallOutcome<C.Result> {
    var call = call
    let run = try makeRun(paths.first, for: &call)
    while true {
      let outcome = try call.perform(
        .paths(Operands(paths.asFiles), walk), in: run, watchedBy: self, report: report)
      if let reason = outcome.summary.stopped ?? outcome.failure { throw reason }
      guard let next = outcome.result.flatMap(following) else { return outcome }
      call = next
    }
  }

  /// Makes the context of the run, and gives a call its share of the descriptors.
  ///
  /// - Parameter first: the first path that is read.
  /// - Throws: `exhausted` when the machine does not allow a run.
  private func makeRun<C: Call>(_ first: PathBytes?, for call: inout C) throws(BatchError) -> RunContext {
    let share = DescriptorShare(settings.openFiles)
    state.withLock { $0.share = share }
    var limits = settings.limits(share.limit, first: first)
    limits.openFiles = share.count
    let needs = try call.limits
    var options = try limits.options(Capacity.current(), laneMemory: needs.laneMemory)
    options.chunksPerCheckpoint = settings.operationsPerCheckpoint.map { max(1, $0) }
    try options.setApart(for: &call)
    let run = RunContext(options: options, cancellation: cancellation, observer: problems)
    state.withLock { $0.run = run }
    if let control = settings.control {
      if settings.concurrency != nil { run.concurrency.fix(run.concurrency.current) }
      control.add(run)
    }
    return run
  }

  func begins(_ total: ResultOperation<Counters.Snapshot>?) {
    // A call that continues another one is part of the same progress.
    guard let progress, state.withLock({ $0.total == nil }) else { return }
    state.withLock { $0.total = total }
    // The operation was not started before and has no dependency, so starting it cannot fail.
    try? total?.startByHand()
    let counters = state.withLock { $0.run?.counters } ?? Counters()
    progress.begin { Batch.Progress.Snapshot(counters, of: try? total?.value()) }
  }

  func ends(_ summary: RunSummary) {}

  /// Ends the call.
  ///
  /// - Parameter reason: why the call ends early; nil if it does not.
  private func end(_ reason: BatchError?) {
    let (run, share, total) = state.withLock { state in
      defer { state = State() }
      return (state.run, state.share, state.total)
    }
    let all = try? total?.value()
    total?.cancel()
    // When the call returns, the walk that counts must have ended.
    total?.waitUntilFinished()
    progress?.end(with: run.map { Batch.Progress.Snapshot($0.counters, of: all) })
    share?.giveBack()
    if let run { settings.control?.remove(run) }
    if let reason, reason.code != .cancelled { return resume(.failure(reason)) }
    resume(
      .success(
        Report(
          counts: run?.counters.snapshot ?? Counters.Snapshot(), elapsed: ContinuousClock.now - start,
          isCancelled: reason != nil, failures: problems.failures, warnings: problems.warnings,
          details: details.withLock { $0 })))
  }
}

/// The file descriptors of one call. No other call of the process can use them until they are given back.
final class DescriptorShare: Sendable {
  /// The largest share if the caller does not ask for a number.
  private static let usual: UInt64 = 512
  /// A call takes one n-th of the free descriptors, so that further calls get some too.
  private static let part: UInt64 = 4
  /// The descriptors of all calls in progress.
  private static let promised = Mutex<UInt64>(0)

  let count: Int
  /// The descriptors of the process without those of the other calls.
  let limit: DescriptorLimit

  /// - Parameter wanted: how many are requested; nil for the usual number.
  init(_ wanted: Int?) {
    // The limit is not raised: it belongs to the program.
    let free = DescriptorLimit.current().free
    (count, limit) = Self.promised.withLock { promised in
      let rest = free.soft - min(free.soft, promised)
      let asked = wanted.map { UInt64(clamping: $0) } ?? min(Self.usual, rest / Self.part)
      let most = rest - min(rest, DescriptorLimit.reserve)
      let count = min(max(asked, DescriptorLimit.minimum), most)
      promised += count
      return (Int(clamping: count), DescriptorLimit(soft: rest, hard: rest))
    }
  }

  /// To be called once, when the call has ended.
  func giveBack() {
    Self.promised.withLock { $0 -= min($0, UInt64(clamping: count)) }
  }
}

/// The first problems of a run.
final class ProblemLists: RunObserver {
  private struct Lists {
    var failures: [Problem] = []
    var warnings: [Problem] = []
  }

  private let most: Int
  private let lists = Mutex(Lists())

  /// - Parameter most: the largest number of entries in each list.
  init(most: Int) {
    self.most = most
  }

  var failures: [Problem] { lists.withLock { $0.failures } }
  var warnings: [Problem] { lists.withLock { $0.warnings } }

  func met(_ problem: Problem, severity: Severity) {
    lists.withLock { lists in
      switch severity {
      case .note: break
      case .warning: if lists.warnings.count < most { lists.warnings.append(problem) }
      case .failure: if lists.failures.count < most { lists.failures.append(problem) }
      }
    }
  }
}
