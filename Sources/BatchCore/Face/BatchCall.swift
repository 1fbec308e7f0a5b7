import BatchEngine
import BatchOutputs
import Dispatch
import Synchronization
import class Foundation.Operation

/// One call of the face: between the task that waits for it, the run, and the progress.
///
/// All is done on the queue of the call and on the threads of the run; the thread of the task is free meanwhile.
final class BatchCall<Details: Sendable>: Sendable {
  typealias Report = Batch.Report<Details>

  private struct State {
    var run: RunContext?
    var share: DescriptorShare?
    var total: ResultOperation<Counters.Snapshot>?
  }

  let settings: Batch.Settings
  let cancellation: Cancellation
  /// What the report has beside the counts.
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

  /// Makes a call, and waits for its end without a thread.
  ///
  /// - Parameters:
  ///   - details: those of a report about nothing.
  ///   - body: prepares the run and starts it; on the queue of the call.
  /// - Throws: what `body` throws, and what ended the run.
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

  /// Notes what the report is to have beside the counts.
  func note(_ change: (inout Details) -> Void) { details.withLock { change(&$0) } }

  // MARK: On the queue of the call

  /// Makes the context of the run.
  ///
  /// - Parameters:
  ///   - first: the first path that is read.
  ///   - stride: in the place of the one of the settings.
  ///   - inputs: descriptors that are held beside those of the files.
  ///   - laneMemory: bytes that one operation takes at most.
  /// - Throws: `exhausted` when the machine does not allow a run.
  func makeRun(
    _ first: PathBytes?, stride: ChunkStride? = nil, inputs: Int = 0, laneMemory: Int = 0
  ) throws(BatchError) -> RunContext {
    var options = try makeOptions(first, laneMemory)
    if let stride { options.stride = stride }
    options.setApart(inputs)
    return makeRun(options)
  }

  /// The same for a run that writes an output for each source.
  ///
  /// - Parameter outputs: receive their share of the descriptors.
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

  /// Starts a job over a source; the call ends with it.
  ///
  /// - Parameters:
  ///   - count: what the walk of the run takes, to count it beside the run; nil where that cannot be.
  ///   - finish: called at the end with what the collector made; nil when the run was stopped. What it throws ends the call.
  func start<Job: BatchJob, Source: BatchSource & SendableMetatype>(
    _ job: Job, over source: sending Source, in run: RunContext,
    count: (paths: [PathBytes], walk: WalkOptions)?,
    finish: @escaping @Sendable (Job.Collector.Summary?) throws(BatchError) -> Void = { _ in }
  ) where Job.Item == Source.Item {
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
  /// - Parameter total: the members and bytes that are read, where that is known.
  func start<Job: BatchJob, Reader: BatchReader & SendableMetatype>(
    _ job: Job, reading reader: sending Reader, in run: RunContext, total: (members: Int, bytes: UInt64)?,
    finish: @escaping @Sendable (Job.Collector.Summary?) throws(BatchError) -> Void = { _ in }
  ) where Job.Item == Reader.Item {
    showProgress(of: run, total: total.map { CountingWalk.known($0.members, bytes: $0.bytes) })
    BatchRunner(run).start(job, reading: reader, notify: queue) { self.end($0, finish) }
  }

  private func showProgress(of run: RunContext, total: ResultOperation<Counters.Snapshot>?) {
    guard let progress else { return }
    state.withLock { $0.total = total }
    // It was not started before, and has no dependency, so that it can be.
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

  /// Ends the call where there is nothing to run.
  func endWithoutRun() { end(nil) }

  /// Ends the call.
  ///
  /// - Parameter reason: why it ends early; nil where it does not.
  private func end(_ reason: BatchError?) {
    let (run, share, total) = state.withLock { state in
      defer { state = State() }
      return (state.run, state.share, state.total)
    }
    let all = try? total?.value()
    total?.cancel()
    // The walk that counts has ended when the call returns.
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
