import Dispatch
import Synchronization

/// Runs jobs over sources: plans chunks, runs them as operations on lanes, collects their results in order.
public struct BatchRunner: Sendable {
  /// The run.
  public let context: RunContext

  public init(_ context: RunContext) {
    self.context = context
  }

  /// Runs a job over a source. Blocks the caller until everything is collected or the run has stopped.
  ///
  /// - Returns: the counts, and the reason if the run stopped early, otherwise the collector's result.
  public func run<Job: BatchJob, Source: BatchSource>(
    _ job: Job, over source: sending Source
  ) -> RunOutcome<Job.Collector.Summary> where Job.Item == Source.Item, Job.SourceRow == Source.Row {
    run(job, ChunkFeed(source: source, stride: context.options.stride))
  }

  /// Runs a job over the items of a reader. Blocks the caller until everything is collected or the run has stopped.
  package func run<Job: BatchJob, Reader: BatchReader>(
    _ job: Job, reading reader: sending Reader
  ) -> RunOutcome<Job.Collector.Summary> where Job.Item == Reader.Item, Job.SourceRow == Reader.Row {
    run(job, ReaderFeed(reader, context))
  }

  private func run<Job: BatchJob>(
    _ job: Job, _ feed: any ChunkSupply<Job.Item, Job.SourceRow>
  ) -> RunOutcome<Job.Collector.Summary> {
    let start = ContinuousClock.now
    var result: Job.Collector.Summary?
    var isSourceAtEnd = false
    do throws(BatchError) {
      let run = try ChunkRun(job, feed, context)
      let adapter = ConcurrencyAdapter(context)
      adapter?.start()
      let governor = MemoryGovernor(context)
      governor.start()
      defer {
        adapter?.stop()
        governor.stop()
      }
      if context.options.runsOnCaller && context.options.mostConcurrency == nil
        && context.concurrency.current == 1
      {
        run.runOnCaller()
      } else {
        run.runOnLanes()
      }
      result = run.finish()
      isSourceAtEnd = run.isSourceAtEnd
    } catch {
      context.cancellation.cancel(error)
    }
    context.descriptors.heldFolders.closeAll()
    let counts = context.counters.snapshot
    let summary = RunSummary(
      counts: counts, stopped: context.cancellation.reason, elapsed: ContinuousClock.now - start,
      concurrency: context.options.mostConcurrency == nil ? nil : context.concurrency.current,
      leavesItems: result == nil
        && (!isSourceAtEnd || counts.seen > counts.done + counts.failed + counts.skipped))
    return RunOutcome(summary: summary, result: result)
  }

  /// Runs a job and returns at once: for tasks, whose threads must not be blocked, and for programs whose main thread must not
  /// wait.
  ///
  /// - Parameters:
  ///   - job: makes the workers and the collector.
  ///   - source: transferred to the run; the caller must not use it any more.
  ///   - queue: where `handler` is called, once, when the run has ended.
  ///   - handler: gets what `run(_:over:)` returns.
  public func start<Job: BatchJob, Source: BatchSource & SendableMetatype>(
    _ job: Job, over source: sending Source, notify queue: DispatchQueue,
    _ handler: @escaping @Sendable (RunOutcome<Job.Collector.Summary>) -> Void
  ) where Job.Item == Source.Item, Job.SourceRow == Source.Row {
    // Transferred by the caller, and used only by the block below.
    nonisolated(unsafe) let source = source
    start(notify: queue, handler) { self.run(job, over: source) }
  }

  /// Runs a job over a source on a queue of its own. The task that awaits it blocks no thread; when the task is cancelled, the
  /// run stops with the code `cancelled`, and the counts up to that moment are returned.
  ///
  /// - Parameters:
  ///   - job: makes the workers and the collector.
  ///   - source: transferred to the run; the caller must not use it any more.
  /// - Returns: the same as the call that blocks.
  public func run<Job: BatchJob, Source: BatchSource & SendableMetatype>(
    _ job: Job, over source: sending Source
  ) async -> RunOutcome<Job.Collector.Summary> where Job.Item == Source.Item, Job.SourceRow == Source.Row {
    // As above.
    nonisolated(unsafe) let source = source
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        start(job, over: source, notify: DispatchQueue(label: "batchproc.end")) {
          continuation.resume(returning: $0)
        }
      }
    } onCancel: {
      context.cancellation.cancel(BatchError(.cancelled, "the task was cancelled"))
    }
  }

  /// Calls `body` on a queue of its own, and `handler` with what it returned.
  private func start<Outcome: Sendable>(
    notify queue: DispatchQueue, _ handler: @escaping @Sendable (Outcome) -> Void,
    _ body: @escaping @Sendable () -> Outcome
  ) {
    let outcome = OutcomeBox<Outcome>()
    let group = DispatchGroup()
    DispatchQueue(label: "batchproc.run").async(group: group) {
      let ended = body()
      outcome.value.withLock { $0 = ended }
    }
    group.notify(queue: queue) {
      if let ended = outcome.value.withLock({ $0 }) { handler(ended) }
    }
  }

  /// Holds the outcome of a run until the group reports its end.
  private final class OutcomeBox<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }
}
