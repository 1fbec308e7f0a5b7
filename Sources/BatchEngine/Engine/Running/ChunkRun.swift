import CLinux
import Dispatch
import Synchronization

/// How much of a run may wait for slow files. A generic type has no stored static values.
private enum ChunkRunLimits {
  static let smallRetained: Int64 = 1 << 20
  /// Chunks that retain more than this count as large: fewer of them may wait, because their memory costs more than the waiting gains.
  static let largeRetained: Int64 = 4 << 20
  /// Results are small: this many may wait for a slow file before the lanes have to wait too.
  static let mostResults = 4096
}

/// The steps of one run of one job.
final class ChunkRun<Job: BatchJob>: Sendable {
  private let job: Job
  private let context: RunContext
  private let feed: any ChunkSupply<Job.Item, Job.SourceRow>
  private let shared: Job.Shared
  private let collector: Mutex<Job.Collector>
  /// All calls of the collector are made here.
  private let collecting = DispatchQueue(label: "batchproc.collect")
  /// Receives "there is room for more work"; nil outside a run.
  private let queue = Mutex<BatchQueue?>(nil)
  /// Bytes of results and inputs between admission and collection.
  private let retained = Atomic<Int64>(0)
  /// The most bytes that one chunk has retained so far, with a minimum for chunks of many small files.
  private let largestRetained = Atomic<Int64>(ChunkRunLimits.smallRetained)
  private let sourceEnded = Atomic<Bool>(false)

  init(_ job: Job, _ feed: any ChunkSupply<Job.Item, Job.SourceRow>, _ context: RunContext)
    throws(BatchError)
  {
    self.job = job
    self.context = context
    self.feed = feed
    shared = try job.makeShared(in: CollectorContext(context))
    collector = Mutex(try job.makeCollector(in: CollectorContext(context), sharing: shared))
    feed.onAsk { [weak self] in
      self?.roomAppeared()
      self?.queue.withLock { $0 }?.itemsAppeared()
    }
  }

  private var cancellation: Cancellation { context.cancellation }
  var isSourceAtEnd: Bool { sourceEnded.load(ordering: .relaxed) }
  /// Whether the next chunk is ready, or there are no more.
  private var isFeedReady: Bool { feed.isReady || context.isEnded }

  private func makeSink() -> OrderedSink<ChunkReport<Job.Worker.Output>> {
    OrderedSink(on: collecting) {
      self.queue.withLock { $0 }?.deliveryBegins()
    } drained: {
      self.roomAppeared()
      self.queue.withLock { $0 }?.deliveryEnded()
    } deliver: { report in
      self.deliver(report)
    }
  }

  /// Admits the next chunks, if the run waited for room or for them.
  private func roomAppeared() {
    if isFeedReady { queue.withLock { $0 }?.roomAppeared() }
  }

  // MARK: The two ways to run

  func runOnLanes() {
    let context = context
    let sink = makeSink()
    let lanes = LanePool(
      concurrency: context.concurrency, most: context.options.mostLanes, cancellation: cancellation
    ) {
      Lane(run: context)
    }
    // Half of the memory; the other half is for the buffers of the lanes.
    let window = Int64(clamping: context.options.memory / 2)
    let queue = BatchQueue(
      concurrency: context.concurrency,
      depth: BatchQueue.Depth(operationsPerLane: 4, perCheckpoint: context.options.chunksPerCheckpoint),
      cancellation: cancellation,
      next: { queue in
        guard let chunk = self.nextChunk() else { return nil }
        let retained = chunk.chunk.retained
        self.retained.add(retained, ordering: .relaxed)
        self.largestRetained.max(retained, ordering: .relaxed)
        return ChunkOperation(
          itemCount: chunk.count, isLarge: chunk.chunk.isLarge && !context.options.isSerial, lanes: lanes,
          ending: { queue.ending(itemCount: $0) }, finished: { queue.finished() }
        ) { lane in
          guard var report = self.process(chunk, on: lane) else { return }
          report.retained = retained
          sink.submit(report, of: chunk.chunk)
        }
      },
      isAsked: { self.feed.hasAsked },
      hasRoom: {
        guard self.isFeedReady else { return false }
        let retained = self.retained.load(ordering: .relaxed)
        let largest = self.largestRetained.load(ordering: .relaxed)
        let (share, isHuge) = largest.multipliedReportingOverflow(by: self.mostRetained(of: largest))
        // The collector may wait for the items that it requested.
        if self.feed.hasAsked { return true }
        // While memory is short, less may wait.
        let room = window >> context.concurrency.memoryHalvings
        return sink.backlog + context.keptResults.load(ordering: .relaxed) < ChunkRunLimits.mostResults
          // One chunk is always admitted, even if it exceeds the window.
          && (retained <= 0 || retained < (isHuge ? room : min(room, share)))
      },
      checkpoint: { self.checkpoint() }, requestMore: { self.requestMore() })
    self.queue.withLock { $0 = queue }
    let changes = context.concurrency.onChange { [weak lanes] in lanes?.startWaiting() }
    cancellation.onCancel { [weak lanes] in lanes?.startWaiting() }
    feed.start(beside: lanes) { self.roomAppeared() }
    queue.run()
    feed.stop()
    context.concurrency.forget(changes)
    self.queue.withLock { $0 = nil }
    if cancellation.isCancelled { sink.flushPastGaps() }
  }

  func runOnCaller() {
    let sink = makeSink()
    let lane = Lane(run: context)
    context.concurrency.note(running: 1)
    var sinceCheckpoint = 0
    do throws(BatchError) {
      try goOn()
      repeat {
        try feed.forEach { (chunk) throws(BatchError) in
          self.note(chunk)
          let operation = ChunkOperation(itemCount: chunk.count, isLarge: chunk.chunk.isLarge, lanes: nil) {
            if let report = self.process(chunk, on: $0) { sink.submit(report, of: chunk.chunk) }
          }
          try operation.run(on: lane)
          // The source takes tokens on this thread too, and would wait for those of the lane.
          lane.rest()
          sink.flush()
          sinceCheckpoint += 1
          if let limit = self.context.options.chunksPerCheckpoint, sinceCheckpoint >= limit {
            self.checkpoint()
            sinceCheckpoint = 0
          }
          try self.goOn()
        }
      } while requestMore()
      endOfFeed()
    } catch {
      if !context.isEnded { cancellation.cancel(error) }
    }
    if context.options.chunksPerCheckpoint != nil, sinceCheckpoint > 0 { checkpoint() }
  }

  // MARK: Steps

  /// How many chunks of this size may be retained: for each lane one in progress, and one that waits to be processed or
  /// collected. Of large chunks, at most as many wait as there are processors.
  private func mostRetained(of largest: Int64) -> Int64 {
    let lanes = context.concurrency.current
    guard largest >= ChunkRunLimits.largeRetained else { return Int64(lanes) * 2 }
    return Int64(lanes + min(lanes, max(1, Int(context.options.processors.rounded(.up)))))
  }

  private func goOn() throws(BatchError) {
    try cancellation.check()
    if context.isEnded { throw BatchError(.cancelled, "the collector takes no more") }
  }

  private func nextChunk() -> PlannedChunk<Job.Item, Job.SourceRow>? {
    do throws(BatchError) {
      guard !context.isEnded else { return nil }
      if let chunk = try feed.next() {
        note(chunk)
        return chunk
      }
      endOfFeed()
    } catch {
      cancellation.cancel(error)
    }
    return nil
  }

  private func note(_ chunk: PlannedChunk<Job.Item, Job.SourceRow>) {
    context.counters.addFiltered(feed.takeFiltered())
    context.counters.addSeen(chunk.chunk.pathCount)
  }

  private func endOfFeed() {
    context.counters.addFiltered(feed.takeFiltered())
    sourceEnded.store(true, ordering: .relaxed)
  }

  private func process(
    _ planned: PlannedChunk<Job.Item, Job.SourceRow>, on lane: Lane
  ) -> ChunkReport<Job.Worker.Output>? {
    guard !cancellation.isCancelled else { return nil }
    let chunk = planned.chunk
    var asides = planned.asides[...]
    lane.hold(
      descriptors: job.descriptors, memory: chunk.isLarge ? FileReader.largeMemory : FileReader.bufferSize)
    #if DEBUG
      TokenOrder.held = .memory
      defer { TokenOrder.held = nil }
    #endif
    let chunkContext = WorkerContext(lane: lane, run: context)
    let isTimed = context.fileTimes != nil
    var output = Job.Worker.Output()
    do throws(BatchError) {
      let worker = try worker(of: lane, in: chunkContext)
      lane.position.begin(chunk)
      defer { lane.position.end() }
      try worker.begin(chunk, in: chunkContext, into: &output)
      // Counted by hand: enumerating a generic type would build its metadata for each item.
      var index = 0
      // For the same reason, a number says whether rows or problems lie between the items.
      let hasAsides = asides.count > 0
      for item in chunk.items {
        if hasAsides { try add(&asides, before: index, worker: worker, in: chunkContext, to: &output) }
        lane.position.advance(to: index)
        index += 1
        chunkContext.resultCount = output.count
        try worker.process(item, in: chunkContext, into: &output)
        if isTimed { chunkContext.endTime(of: item) }
      }
      if hasAsides { try add(&asides, before: index, worker: worker, in: chunkContext, to: &output) }
      chunkContext.resultCount = output.count
      try worker.end(in: chunkContext, into: &output)
      return ChunkReport(
        output: output, problems: chunkContext.problems,
        times: isTimed ? chunkContext.stopwatch?.times ?? [] : [])
    } catch {
      // Releases the worker, and what it holds open, now and not when Dispatch releases the lane.
      lane.worker = nil
      cancellation.cancel(error)
      guard cancellation.isFromOutside else { return nil }
      return ChunkReport(output: output, problems: chunkContext.problems)
    }
  }

  /// Adds the rows and problems that the source yielded between two items.
  private func add(
    _ asides: inout ArraySlice<(Yielded<Never, Job.SourceRow>, position: Int)>, before index: Int,
    worker: Job.Worker, in context: WorkerContext, to output: inout Job.Worker.Output
  ) throws(BatchError) {
    while let (aside, position) = asides.first, position <= index {
      asides.removeFirst()
      context.resultCount = output.count
      try worker.settle(in: context, into: &output)
      context.resultCount = output.count
      switch aside {
      case .row(let row): job.add(row, in: context, to: &output)
      case .problem(let problem): context.report(problem)
      }
    }
  }

  private func worker(of lane: Lane, in chunk: WorkerContext) throws(BatchError) -> Job.Worker {
    if let worker = lane.worker as? Job.Worker { return worker }
    let worker = try job.makeWorker(in: chunk, sharing: shared)
    lane.worker = worker
    return worker
  }

  private func deliver(_ report: ChunkReport<Job.Worker.Output>) {
    // Calls of the collector are not counted as waiting for a device: more operations would not help.
    clinux_note_calls(0)
    defer {
      clinux_note_calls(1)
      retained.subtract(report.retained, ordering: .relaxed)
    }
    do throws(BatchError) {
      try collector.withLock { (collector) throws(BatchError) in
        let collectsAfterStop = collector.collectsAfterStop
        func isTaken() -> Bool {
          !cancellation.isCancelled || (cancellation.isFromOutside && collectsAfterStop)
        }
        try report.deliver { (output) throws(BatchError) in
          if !isTaken() { try cancellation.check() }
          try collector.collect(output)
        } _: { (problem, severity) in
          guard isTaken(), !collector.hold(problem, severity: severity) else { return }
          context.report(problem, severity: severity)
        }
      }
      if !report.times.isEmpty { context.fileTimes?.took(report.times) }
    } catch {
      cancellation.cancel(error)
    }
  }

  private func checkpoint() {
    // Collecting the last results may have failed and cancelled the run.
    guard !cancellation.isCancelled else { return }
    do throws(BatchError) {
      try withCollector { (collector) throws(BatchError) in try collector.checkpoint() }
      context.counters.noteCheckpoint()
    } catch {
      cancellation.cancel(error)
    }
  }

  private func requestMore() -> Bool {
    guard !cancellation.isCancelled, !context.isEnded else { return false }
    do throws(BatchError) {
      return try withCollector { (collector) throws(BatchError) in try collector.requestMore() }
    } catch {
      cancellation.cancel(error)
      return false
    }
  }

  /// - Returns: the collector's result; nil when the run was stopped.
  func finish() -> Job.Collector.Summary? {
    do throws(BatchError) {
      return try withCollector { (collector) throws(BatchError) in
        do throws(BatchError) {
          try cancellation.check()
          return try collector.finish()
        } catch {
          collector.discard()
          throw error
        }
      }
    } catch {
      cancellation.cancel(error)
      return nil
    }
  }

  /// Calls the collector on its queue, after the results that are being collected.
  private func withCollector<Result: Sendable>(
    _ body: (Job.Collector) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    let result = collecting.sync {
      Swift.Result { () throws(BatchError) in
        try collector.withLock { (collector) throws(BatchError) in try body(collector) }
      }
    }
    return try result.get()
  }
}
