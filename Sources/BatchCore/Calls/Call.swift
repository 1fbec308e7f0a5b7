import BatchEngine
import BatchOutputs

/// A job with its options: what it reads, how it processes that, and when its outputs are complete.
///
/// It knows no terminal, no command line and no exit status. A command, a call of the library and a shard of a plan run the
/// same value, with ``perform(_:in:watchedBy:report:)``.
package protocol Call<Report, Result> {
  /// What is reported during the run, such as the rows of some files.
  associatedtype Report
  associatedtype Result: CallResult

  /// The options of a call that writes one output for each source; nil for others. Before the run they get the share of the
  /// descriptors for outputs.
  var outputs: OutputOptions? { get set }
  /// What the run must set apart before it begins.
  ///
  /// - Throws: `invalid` for a level that the format does not have.
  var limits: CallLimits { get throws(BatchError) }
  /// Takes what the call needs of the resources of the run beside that.
  ///
  /// - Throws: `exhausted` when there is too little.
  mutating func share(_ run: inout BatchOptions) throws(BatchError)

  /// How a plan divides the job; nil if it cannot be divided.
  var division: Division? { get }

  /// Opens the inputs and outputs, and makes the job.
  ///
  /// - Parameters:
  ///   - input: the paths to process; calls that name their input in their options ignore it.
  ///   - report: receives reports, one call at a time, in the order of the input.
  /// - Throws: why the run cannot begin; then no output is left.
  func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (Report) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result>

  /// What the counts of a run mean; over shards, those of all runs together.
  func verdict(_ tally: CallTally) -> CallVerdict
}

extension Call {
  package var outputs: OutputOptions? {
    get { nil }
    set {}
  }
  package var limits: CallLimits { CallLimits() }
  package var division: Division? { nil }
  package mutating func share(_ run: inout BatchOptions) {}
  package func verdict(_ tally: CallTally) -> CallVerdict { CallVerdict(tally.counts) }
}

/// What a call needs beside the descriptors and the memory of its files.
package struct CallLimits: Sendable {
  /// Replaces the number of files of one operation.
  package var stride: ChunkStride?
  /// The most bytes that one operation needs.
  package var laneMemory = 0
  /// Descriptors that are held in addition to those of the files.
  package var inputs = 0
  /// Whether one operation at a time runs, in the order of the input.
  package var isSerial = false
  /// The most lanes; nil for as many as operations.
  package var mostLanes: Int?
  /// Whether the run keeps its number of operations. The default is then the number of processors.
  package var isFixed = false

  package init(
    stride: ChunkStride? = nil, laneMemory: Int = 0, inputs: Int = 0, isSerial: Bool = false,
    mostLanes: Int? = nil, isFixed: Bool = false
  ) {
    (self.stride, self.laneMemory, self.inputs, self.isSerial) = (stride, laneMemory, inputs, isSerial)
    (self.mostLanes, self.isFixed) = (mostLanes, isFixed)
  }
}

/// What a call processes.
package enum CallInput {
  /// Paths, and the options of the walk below them.
  case paths(Operands, WalkOptions)
  case shard(ShardWork)
  /// Items that an earlier walk has found.
  case items([WalkItem])
}

extension CallInput {
  /// How many paths were given; nil for a part of a divided job.
  var pathCount: Int? {
    if case .paths(let operands, _) = self { operands.count } else { nil }
  }

  /// How many paths are given; nil if some are in lists, or for items.
  var operandCount: Int? {
    if case .paths(let operands, _) = self { operands.known?.count } else { nil }
  }

  /// The files to process, and their count, which is not started.
  ///
  /// - Parameter change: changes the options of the walk; not called if the files are known.
  func tree(
    in run: RunContext, _ change: (inout WalkOptions) throws(BatchError) -> Void = { _ in }
  ) throws(BatchError) -> (tree: TreeSource, total: ResultOperation<Counters.Snapshot>?) {
    switch self {
    case .paths(let operands, var walk):
      try change(&walk)
      return (run.tree(operands.counted, options: walk), operands.total(walk, in: run))
    case .shard(let work): return (run.tree { work.player.next() }, work.total)
    case .items(let items): return (run.tree(of: items), nil)
    }
  }
}

/// The facts of a finished call.
package protocol CallResult: Sendable {
  /// Counts beside those of the run, by names that the results of shards store.
  var findings: [String: Int] { get }
}

extension CallResult {
  package var findings: [String: Int] { [:] }
}

/// The result of a call whose counts say everything.
package struct NoFindings: CallResult {
  package init() {}
}

/// Work that is ready to run.
package struct Prepared<Result: CallResult> {
  /// How the work ended, and what makes its result; nil if it was stopped.
  typealias Ended = (summary: RunSummary, result: (() throws(BatchError) -> Result)?)

  let run: (BatchRunner) -> Ended
  /// Counts the work; nil if it is unknown.
  let total: ResultOperation<Counters.Snapshot>?
  /// Gives the outputs their names.
  var complete: (inout Result) throws(BatchError) -> Void = { _ in }
  /// Removes the unfinished outputs.
  var discard: () -> Void = {}

  /// A job over the items of a source.
  ///
  /// - Parameters:
  ///   - source: transferred to the run; the caller must not use it any more.
  ///   - result: called for a run that reached its end.
  init<Job: BatchJob, Source: BatchSource>(
    _ job: Job, over source: Source, total: ResultOperation<Counters.Snapshot>?,
    result: @escaping (Job.Collector.Summary) throws(BatchError) -> Result
  ) where Source.Item == Job.Item, Source.Row == Job.SourceRow {
    // Transferred by the caller, and used only by the one call of the block below.
    nonisolated(unsafe) let source = source
    run = { Self.ended($0.run(job, over: source), result) }
    self.total = total
  }

  /// A job over the items of a reader.
  ///
  /// - Parameters:
  ///   - reader: transferred to the run; the caller must not use it any more.
  ///   - total: the number of members and bytes to read, if known.
  ///   - result: called for a run that reached its end.
  init<Job: BatchJob, Reader: BatchReader>(
    _ job: Job, reading reader: Reader, total: (members: Int, bytes: UInt64)?,
    result: @escaping (Job.Collector.Summary) throws(BatchError) -> Result
  ) where Reader.Item == Job.Item, Reader.Row == Job.SourceRow {
    // As above.
    nonisolated(unsafe) let reader = reader
    run = { Self.ended($0.run(job, reading: reader), result) }
    self.total = total.map { CountingWalk.known($0.members, bytes: $0.bytes) }
  }

  /// Work without a job of its own, such as steps that are runs themselves. Done on the thread of the caller.
  init(steps: @escaping () throws(BatchError) -> Result) {
    total = nil
    run = { runner in
      let (context, start) = (runner.context, ContinuousClock.now)
      let result = Swift.Result { () throws(BatchError) in try steps() }
      // Steps that ended well have a result, also if a run among them was stopped and they went on.
      var stopped: BatchError?
      if case .failure(let error) = result { stopped = context.cancellation.reason ?? error }
      let summary = RunSummary(
        counts: context.counters.snapshot, stopped: stopped, elapsed: ContinuousClock.now - start)
      return (summary, stopped == nil ? { () throws(BatchError) in try result.get() } : nil)
    }
  }

  private static func ended<Summary>(
    _ outcome: RunOutcome<Summary>, _ result: @escaping (Summary) throws(BatchError) -> Result
  ) -> Ended {
    guard let summary = outcome.result else { return (outcome.summary, nil) }
    return (outcome.summary, { () throws(BatchError) in try result(summary) })
  }
}
