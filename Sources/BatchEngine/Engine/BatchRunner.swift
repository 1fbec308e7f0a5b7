import Dispatch
import Synchronization

/// Runs jobs over trees: plans chunks, runs them as operations on lanes, collects their results in order.
///
/// One runner is one run; its budgets, counters and cancellation belong to it.
public final class BatchRunner: Sendable {
  /// The run that goes on, and what was asked of it before it began.
  private struct Active {
    var queue: BatchQueue?
    var lanes: LanePool?
    var concurrency: Int?
    var isSuspended = false
  }

  /// More operations at once than any process has threads for.
  private static let mostOperations = 1 << 16
  /// One that a lane works on, and one that waits for it or for its turn to be collected.
  private static let retainedPerLane: Int64 = 2
  private static let smallRetained: Int64 = 1 << 20

  public let options: BatchOptions
  public let counters = Counters()
  public let cancellation: Cancellation
  private let descriptors: DescriptorBudget
  private let memory: MemoryBudget
  private let observer: (any RunObserver)?
  package let calls: any FileSystemCalls
  /// Bytes of results and inputs between admission and collection.
  private let retained = Atomic<Int64>(0)
  /// The most bytes that one chunk has retained, at least those of many small ones.
  private let largestRetained = Atomic<Int64>(BatchRunner.smallRetained)
  private let active = Mutex(Active())

  /// - Parameters:
  ///   - cancellation: stops the run from outside, as a signal does.
  ///   - observer: told of every problem, in order.
  public convenience init(
    options: BatchOptions = BatchOptions(), cancellation: Cancellation = Cancellation(),
    observer: (any RunObserver)? = nil
  ) {
    self.init(options: options, cancellation: cancellation, observer: observer, calls: LinuxCalls())
  }

  package init(
    options: BatchOptions, cancellation: Cancellation = Cancellation(),
    observer: (any RunObserver)? = nil, calls: any FileSystemCalls
  ) {
    self.options = options
    self.cancellation = cancellation
    self.observer = observer
    self.calls = calls
    descriptors = DescriptorBudget(capacity: options.descriptors)
    // More than the lanes can use takes a token for each page all the same, and time to count them.
    memory = MemoryBudget(
      capacity: min(options.memory, FileReader.largeMemory * max(Self.bounded(options.concurrency), 256)))
  }

  /// How many folders may stay open on the way to deep ones; their descriptors are set apart from the others of the run.
  public var foldersHeldOpen: Int { descriptors.anchors.limit }

  /// The files below some operands as a source for ``run(_:over:)``.
  ///
  /// - Parameter operands: asked for one at a time, as the walk gets there; `-` is standard input.
  public func tree(
    _ operands: some Sequence<PathBytes>, options walk: WalkOptions = WalkOptions()
  ) -> TreeSource {
    TreeSource(
      walker: TreeWalker(operands: operands, options: walk, descriptors: descriptors, calls: calls))
  }

  /// Changes the number of operations at once, before a run or while it goes on; 1 or more.
  public func setConcurrency(_ count: Int) {
    active.withLock { active in
      active.concurrency = Self.bounded(count)
      active.queue?.concurrency = Self.bounded(count) + LanePool.standby
      active.lanes?.limit = Self.bounded(count)
    }
  }

  /// Holds back operations that have not begun, or lets them begin again.
  public func setSuspended(_ isSuspended: Bool) {
    active.withLock { active in
      active.isSuspended = isSuspended
      active.queue?.isSuspended = isSuspended
    }
  }

  /// Runs a job over a source. Blocks the caller until everything is collected or the run has stopped.
  ///
  /// - Returns: the counts, and why the run stopped early, if it did.
  public func run<Job: BatchJob, Source: BatchSource>(
    _ job: Job, over source: sending Source
  ) -> RunSummary where Job.Item == Source.Item {
    let start = ContinuousClock.now
    let feed = ChunkFeed(source: source, stride: options.stride)
    let sink = OrderedSink<ChunkReport<Job.Output>> { _, report in self.deliver(report, to: job) }
    if options.runsOnCaller && options.concurrency == 1 {
      runOnCaller(job, feed, sink)
    } else {
      runOnLanes(job, feed, sink)
    }
    sink.flush()
    descriptors.anchors.closeAll()
    return RunSummary(
      counts: counters.snapshot, stopped: cancellation.reason, elapsed: ContinuousClock.now - start)
  }

  // MARK: The two ways to run

  private func runOnLanes<Job: BatchJob>(
    _ job: Job, _ feed: ChunkFeed<Job.Item>, _ sink: OrderedSink<ChunkReport<Job.Output>>
  ) {
    let concurrency = active.withLock { $0.concurrency } ?? Self.bounded(options.concurrency)
    let lanes = LanePool(limit: concurrency, calls: calls)
    // Results behind a slow file are small; so many may wait for it before the lanes do.
    let backlog = 4096
    // The other half of the memory is for the buffers of the lanes.
    let window = Int64(clamping: options.memory / 2)
    let box = Mutex<BatchQueue?>(nil)
    let queue = BatchQueue(
      concurrency: concurrency + LanePool.standby,
      depth: BatchQueue.Depth(
        operations: max(64, concurrency * 4), perCheckpoint: options.chunksPerCheckpoint),
      cancellation: cancellation,
      next: {
        guard let portion = self.nextPortion(feed) else { return nil }
        let chunk = portion.chunk
        self.retained.add(portion.retained, ordering: .relaxed)
        self.largestRetained.max(portion.retained, ordering: .relaxed)
        return ChunkOperation(itemCount: chunk.items.count, isLarge: chunk.isLarge, lanes: lanes) { bench in
          guard var report = self.process(chunk, with: job, on: bench) else { return }
          report.retained = portion.retained
          sink.submit(report, at: chunk.index) { box.withLock { $0 }?.roomAppeared() }
        }
      },
      hasRoom: {
        let retained = self.retained.load(ordering: .relaxed)
        let largest = self.largestRetained.load(ordering: .relaxed)
        let (share, isHuge) = largest.multipliedReportingOverflow(
          by: Self.retainedPerLane * Int64(lanes.limit))
        // Something is always admitted, also where a single block is more than the window.
        return sink.backlog < backlog && (retained <= 0 || retained < (isHuge ? window : min(window, share)))
      },
      checkpoint: {
        sink.flush()
        self.checkpoint(job)
      })
    box.withLock { $0 = queue }
    active.withLock { active in
      active.queue = queue
      active.lanes = lanes
      queue.isSuspended = active.isSuspended
    }
    queue.run()
    active.withLock { $0 = Active() }
    box.withLock { $0 = nil }
  }

  private func runOnCaller<Job: BatchJob>(
    _ job: Job, _ feed: ChunkFeed<Job.Item>, _ sink: OrderedSink<ChunkReport<Job.Output>>
  ) {
    let bench = Workbench(calls: calls)
    var sinceCheckpoint = 0
    while !cancellation.isCancelled, let chunk = nextPortion(feed)?.chunk {
      let operation = ChunkOperation(itemCount: chunk.items.count, isLarge: chunk.isLarge, lanes: nil) {
        if let report = self.process(chunk, with: job, on: $0) { sink.submit(report, at: chunk.index) }
      }
      do throws(BatchError) {
        try operation.run(on: bench)
      } catch {
        cancellation.cancel(error)
      }
      sink.flush()
      sinceCheckpoint += 1
      if let limit = options.chunksPerCheckpoint, sinceCheckpoint >= limit {
        checkpoint(job)
        sinceCheckpoint = 0
      }
    }
    if options.chunksPerCheckpoint != nil, sinceCheckpoint > 0 { checkpoint(job) }
  }

  private static func bounded(_ concurrency: Int) -> Int {
    min(max(1, concurrency), mostOperations)
  }

  // MARK: Steps

  private func nextPortion<Item>(_ feed: ChunkFeed<Item>) -> ChunkFeed<Item>.Portion? {
    do throws(BatchError) {
      guard let portion = try feed.next() else { return nil }
      counters.addSeen(portion.pathCount)
      return portion
    } catch {
      cancellation.cancel(error)
      return nil
    }
  }

  private func process<Job: BatchJob>(
    _ chunk: Chunk<Job.Item>, with job: Job, on bench: Workbench
  ) -> ChunkReport<Job.Output>? {
    guard !cancellation.isCancelled else { return nil }
    let context = ChunkContext(
      bench: bench, policy: options.policy, concurrency: options.concurrency, counters: counters,
      cancellation: cancellation)
    do throws(BatchError) {
      let output = try descriptors.withDescriptors(job.descriptors) { () throws(BatchError) in
        // The folder's descriptor stays open from file to file, and ends with the tokens.
        defer { bench.reader.closeFolder() }
        let buffers = chunk.isLarge ? FileReader.largeMemory : FileReader.bufferSize
        return try memory.withMemory(buffers) { () throws(BatchError) in try job.process(chunk, in: context) }
      }
      return ChunkReport(output: output, problems: context.problems)
    } catch {
      cancellation.cancel(error)
      return nil
    }
  }

  private func deliver<Job: BatchJob>(_ report: ChunkReport<Job.Output>, to job: Job) {
    defer { retained.subtract(report.retained, ordering: .relaxed) }
    guard !cancellation.isCancelled else { return }
    defer { observer?.collected() }
    for met in report.problems {
      observer?.met(met.problem, severity: met.severity, behind: met.position)
    }
    do throws(BatchError) {
      try job.collect(report.output)
    } catch {
      cancellation.cancel(error)
    }
  }

  private func checkpoint<Job: BatchJob>(_ job: Job) {
    // Collecting the last results before it may have failed.
    guard !cancellation.isCancelled else { return }
    do throws(BatchError) {
      try job.checkpoint()
    } catch {
      cancellation.cancel(error)
    }
  }
}
