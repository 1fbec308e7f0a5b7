import BatchEngine
import BatchOutputs

/// A job with its options: what it reads, how it processes that, and when its outputs are complete.
///
/// It knows no terminal, no command line and no exit status. A command, a call of the library and a shard of a plan run the
/// same value, with ``perform(_:in:watchedBy:report:)``.
package protocol Call<Report, Result> {
  associatedtype Job: BatchJob
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
  ) throws(BatchError) -> Prepared<Job, Result>

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

  package init(stride: ChunkStride? = nil, laneMemory: Int = 0, inputs: Int = 0, isSerial: Bool = false) {
    (self.stride, self.laneMemory, self.inputs, self.isSerial) = (stride, laneMemory, inputs, isSerial)
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

/// A job that is ready to run.
package struct Prepared<Job: BatchJob, Result: CallResult> {
  let run: (BatchRunner) -> RunOutcome<Job.Collector.Summary>
  /// Counts the work; nil if it is unknown.
  let total: ResultOperation<Counters.Snapshot>?
  /// The result of a run that reached its end.
  let result: (Job.Collector.Summary) throws(BatchError) -> Result
  /// Gives the outputs their names.
  var complete: (inout Result) throws(BatchError) -> Void = { _ in }
  /// Removes the unfinished outputs.
  var discard: () -> Void = {}

  /// - Parameter source: transferred to the run; the caller must not use it any more.
  init<Source: BatchSource>(
    _ job: Job, over source: Source, total: ResultOperation<Counters.Snapshot>?,
    result: @escaping (Job.Collector.Summary) throws(BatchError) -> Result
  ) where Source.Item == Job.Item, Source.Row == Job.SourceRow {
    // Transferred by the caller, and used only by the one call of the block below.
    nonisolated(unsafe) let source = source
    run = { $0.run(job, over: source) }
    self.total = total
    self.result = result
  }

  /// - Parameters:
  ///   - reader: transferred to the run; the caller must not use it any more.
  ///   - total: the number of members and bytes to read, if known.
  init<Reader: BatchReader>(
    _ job: Job, reading reader: Reader, total: (members: Int, bytes: UInt64)?,
    result: @escaping (Job.Collector.Summary) throws(BatchError) -> Result
  ) where Reader.Item == Job.Item, Reader.Row == Job.SourceRow {
    // As above.
    nonisolated(unsafe) let reader = reader
    run = { $0.run(job, reading: reader) }
    self.total = total.map { CountingWalk.known($0.members, bytes: $0.bytes) }
    self.result = result
  }
}
