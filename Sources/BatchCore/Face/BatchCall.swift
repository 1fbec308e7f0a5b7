import BatchEngine
import BatchOutputs
import Dispatch
import Synchronization
import class Foundation.Operation

/// One call of ``Batch``: connects the task that waits for it with the run and the progress.
///
/// All work is done on the queue of the call and on the threads of the run; the waiting task blocks no thread.
final class BatchCall<Details: Sendable>: Sendable {
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
  private let counting = DispatchQueue(label: "batchproc.count")
  private let state = Mutex(State())
  private let start = ContinuousClock.now
  private let resume: @Sendable (Result<Report, BatchError>) -> Void

  private init(
    _ settings: Batch.Settings, _ progress: Batch.Progress?, _ details: Details,
    _ cancellation: Cancellation, resume: @escaping @Sendable (Result<Report, BatchError>) -> Void
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
  ///   - body: prepares the run and starts it; called on the queue of the call.
  /// - Throws: the error of `body`, or the error that ended the run.
  static func perform(
    _ settings: Batch.Settings, _ progress: Batch.Progress?, _ details: Details,
    _ body: @escaping @Sendable (BatchCall) throws(BatchError) -> Void
  ) async throws(BatchError) -> Report {
    let cancellation = Cancellation()
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation {
        (continuation: CheckedContinuation<Result<Report, BatchError>, Never>) in
        BatchCall(settings, progress, details, cancellation) { continuation.resume(returning: $0) }
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
      } catch {
        self.end(error)
      }
    }
  }

  /// Changes the details of the report.
  func note(_ change: (inout Details) -> Void) { details.withLock { change(&$0) } }

  // MARK: On the queue of the call

  /// Makes the context of the run.
  ///
  /// - Parameters:
  ///   - first: the first path that is read.
  ///   - stride: replaces the stride of the settings.
  ///   - inputs: descriptors that are held in addition to those of the files.
  ///   - laneMemory: the most bytes that one operation needs.
  /// - Throws: `exhausted` when the machine does not allow a run.
  func makeRun(
    _ first: PathBytes?, stride: ChunkStride? = nil, inputs: Int = 0, laneMemory: Int = 0
  ) throws(BatchError) -> RunContext {
    var options = try makeOptions(first, laneMemory)
    if let stride { options.stride = stride }
    options.setApart(inputs)
    return makeRun(options)
  }

  /// The same for a run that writes one output for each source.
  ///
  /// - Parameter outputs: receive the share of the descriptors for outputs.
  /// - Throws: `exhausted` when the machine does not allow a run.
  func makeRun(
    _ first: PathBytes?, laneMemory: Int = 0, outputs: inout OutputOptions
  ) throws(BatchError) -> RunContext {
    var options = try makeOptions(first, laneMemory)
    try options.shareDescriptors(with: &outputs)
    return makeRun(options)
  }

  private func makeOptions(_ first: PathBytes?, _ laneMemory: Int) throws(BatchError) -> BatchOptions {
    let share = DescriptorShare(settings.openFiles)
    state.withLock { $0.share = share }
    var limits = settings.limits(share.limit, first: first)
    limits.openFiles = share.count
    var options = try limits.options(Capacity.current(), laneMemory: laneMemory)
    options.chunksPerCheckpoint = settings.operationsPerCheckpoint.map { max(1, $0) }
    return options
  }

  private func makeRun(_ options: BatchOptions) -> RunContext {
    let run = RunContext(options: options, cancellation: cancellation, observer: problems)
    state.withLock { $0.run = run }
    return run
  }

  /// Starts a job over a source; the call ends when the job ends.
  ///
  /// - Parameters:
  ///   - count: the paths and options of the walk, to count the files during the run; nil if they cannot be counted.
  ///   - finish: called at the end with the result of the collector; nil if the run was stopped. If it throws, the call ends
  ///     with this error.
  func start<Job: BatchJob, Source: BatchSource & SendableMetatype>(
    _ job: Job, over source: sending Source, in run: RunContext,
    count: (paths: [PathBytes], walk: WalkOptions)?,
    finish: @escaping @Sendable (Job.Collector.Summary?) throws(BatchError) -> Void = { _ in }
  ) where Job.Item == Source.Item, Job.SourceRow == Source.Row {
    showProgress(
      of: run,
      total: count.map { count in
        CountingWalk.operation(on: counting, options: count.walk, run: run) {
          AnyIterator(count.paths.makeIterator())
        }
      })
    BatchRunner(run).start(job, over: source, notify: queue) { self.end($0, finish) }
  }

  /// The same over the items of a reader.
  ///
  /// - Parameter total: the number of members and bytes to read, if known.
  func start<Job: BatchJob, Reader: BatchReader & SendableMetatype>(
    _ job: Job, reading reader: sending Reader, in run: RunContext, total: (members: Int, bytes: UInt64)?,
    finish: @escaping @Sendable (Job.Collector.Summary?) throws(BatchError) -> Void = { _ in }
  ) where Job.Item == Reader.Item, Job.SourceRow == Reader.Row {
    showProgress(of: run, total: total.map { CountingWalk.known($0.members, bytes: $0.bytes) })
    BatchRunner(run).start(job, reading: reader, notify: queue) { self.end($0, finish) }
  }

  private func showProgress(of run: RunContext, total: ResultOperation<Counters.Snapshot>?) {
    guard let progress else { return }
    state.withLock { $0.total = total }
    // The operation was not started before and has no dependency, so starting it cannot fail.
    try? total?.startByHand()
    let counters = run.counters
    progress.begin { Batch.Progress.Snapshot(counters, of: try? total?.value()) }
  }

  private func end<Summary>(
    _ outcome: RunOutcome<Summary>, _ finish: (Summary?) throws(BatchError) -> Void
  ) {
    do throws(BatchError) {
      try finish(outcome.result)
      end(outcome.summary.stopped)
    } catch {
      end(outcome.summary.stopped ?? error)
    }
  }

  /// Ends a call that has nothing to run.
  func endWithoutRun() { end(nil) }

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
    counting.sync {}
    progress?.end(with: run.map { Batch.Progress.Snapshot($0.counters, of: all) })
    share?.giveBack()
    if let reason, reason.code != .cancelled { return resume(.failure(reason)) }
    resume(
      .success(
        Report(
          counts: run?.counters.snapshot ?? Counters.Snapshot(), elapsed: ContinuousClock.now - start,
          isCancelled: reason != nil, failures: problems.failures, warnings: problems.warnings,
          details: details.withLock { $0 })))
  }
}
