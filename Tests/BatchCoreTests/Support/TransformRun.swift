import Synchronization
import TestSupport

@testable import BatchCore
@testable import BatchEngine
@testable import BatchOutputs

/// A run of a job that writes outputs for a fixture, with everything that it reported.
struct TransformRun {
  struct Failed: Error {
    let error: BatchError
  }

  let counts: Counters.Snapshot
  let stopped: BatchError?
  /// A line for each report, in order, with paths relative to the fixture.
  let reports: [String]
  /// The reported problems: severity, event and name.
  let problems: [String]
  /// Reports and problems in the order in which they were made.
  let events: [String]

  /// - Parameters:
  ///   - operands: paths relative to the fixture; the whole fixture when empty.
  ///   - change: sets options before the run.
  static func compress(
    _ fixture: TreeFixture, _ operands: [PathBytes] = [""], to format: CompressionFormat = .gz,
    level: Int? = nil,
    concurrency: Int = 2, into directory: PathBytes? = nil, calls: any FileSystemCalls = LinuxCalls(),
    commits: any CommitCalls = LinuxCommitCalls(),
    _ change: (inout OutputOptions, inout BatchOptions) -> Void = { _, _ in }
  ) throws -> TransformRun {
    try run(
      fixture, operands, .adding(suffix: PathBytes(format.suffix)), concurrency, directory, calls, change
    ) { (runner, paths, walk, options, tell) throws(BatchError) in
      let source = try CompressSource(
        runner.tree(paths, options: walk), operandCount: paths.count, format: format, level: level,
        options: options,
        cancellation: runner.context.cancellation)
      let job = CompressJob(of: source, output: NoStream(), commits: commits, report: tell)
      return runner.run(job, over: source).summary
    }
  }

  static func decompress(
    _ fixture: TreeFixture, _ operands: [PathBytes] = [""], _ decoding: DecoderOptions = DecoderOptions(),
    concurrency: Int = 2, into directory: PathBytes? = nil, calls: any FileSystemCalls = LinuxCalls(),
    commits: any CommitCalls = LinuxCommitCalls(),
    _ change: (inout OutputOptions, inout BatchOptions) -> Void = { _, _ in }
  ) throws -> TransformRun {
    try run(fixture, operands, .decompressing, concurrency, directory, calls, change) {
      (runner, paths, walk, options, tell) throws(BatchError) in
      let source = DecompressSource(
        runner.tree(paths, options: walk), operands: paths, naming: options.naming)
      let job = DecompressJob(
        options, decoding: decoding, asked: source.asked, output: NoStream(), commits: commits, report: tell)
      return runner.run(job, over: source).summary
    }
  }

  private static func run(
    _ fixture: TreeFixture, _ operands: [PathBytes], _ direction: OutputNaming.Direction, _ concurrency: Int,
    _ directory: PathBytes?, _ calls: any FileSystemCalls,
    _ change: (inout OutputOptions, inout BatchOptions) -> Void,
    _ body: (
      BatchRunner, [PathBytes], WalkOptions, OutputOptions,
      @escaping @Sendable (TransformReport) throws(BatchError) -> Void
    ) throws(BatchError) -> RunSummary
  ) throws -> TransformRun {
    var options = OutputOptions(naming: OutputNaming(direction, directory: directory))
    var batch = BatchOptions()
    batch.concurrency = concurrency
    // Other tests check syncing; here it would only cost time.
    options.isSynced = false
    change(&options, &batch)
    let events = Recorder<String>()
    let problems = ProblemRecorder(events: events)
    let reports = Recorder<String>()
    let runner = BatchRunner(options: batch, observer: problems, calls: calls)
    var walk = WalkOptions()
    walk.skipsTemporaries = true
    if let made = try options.naming.makeDirectory(by: calls) { walk.excluded.insert(made) }
    let paths = operands.map { fixture.path($0) }
    let summary = try body(runner, paths, walk, options) { (report) throws(BatchError) in
      let line = "\(fixture.relative(report.source)) \(word(report.outcome, fixture))"
      reports.record(line)
      events.record(line)
    }
    return TransformRun(
      counts: runner.context.counters.snapshot, stopped: summary.stopped, reports: reports.values,
      problems: problems.lines.values, events: events.values)
  }

  private static func word(_ outcome: OutputOutcome, _ fixture: TreeFixture) -> String {
    switch outcome {
    case .written(_, let plain, _): "written \(plain)"
    case .upToDate: "up to date"
    case .compressedAlready: "compressed already"
    case .notSmaller: "not smaller"
    case .linked(let target): "linked \(fixture.relative(target))"
    case .copied(let target, let size): "copied \(size) to \(fixture.relative(target))"
    case .planned(let target, let size): "planned \(size) to \(fixture.relative(target))"
    }
  }
}

/// Standard output of a run that writes nothing to it.
private struct NoStream: ResultStream {
  func write(_ bytes: [UInt8]) throws(BatchError) {
    throw BatchError(.invalid, "nothing was to be written")
  }

  func finish() {}
}
