import BatchEngine
import BatchOutputs

/// Compresses files, one output for each.
package struct CompressCall: Call {
  package let format: CompressionFormat
  private let level: Int?
  private var options: OutputOptions
  /// Receives the compressed form of standard input, and of all files if the options require that.
  package var stream: any ResultStream = NoStream()
  /// Makes the outputs of whole files instead of the codec.
  var transform: (@Sendable ([UInt8]) throws(BatchError) -> [UInt8])?
  /// Files of this size in bytes or more fail, and no file is cut into blocks; nil cuts large files into blocks.
  var wholeBelow: Int64?

  /// - Parameter level: nil for the default of the format.
  package init(_ format: CompressionFormat, level: Int?, _ options: OutputOptions) {
    (self.format, self.level, self.options) = (format, level, options)
  }

  package var outputs: OutputOptions? {
    get { options.writesToStream ? nil : options }
    set { options = newValue ?? options }
  }

  package var limits: CallLimits {
    get throws(BatchError) {
      CallLimits(laneMemory: transform == nil ? try format.memoryOfLane(level: level) : 0)
    }
  }

  package var division: Division? {
    Division(transforming: options, naming: options.copiesOthers ? options.naming : nil)
  }

  package func verdict(_ tally: CallTally) -> CallVerdict { .ofOutputs(tally) }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping TransformCollector.Report
  ) throws(BatchError) -> Prepared<TransformCounts> {
    let (tree, total) = try input.sources(options, in: run)
    let source = try CompressSource(
      tree, operandCount: input.operands?.count, format: format, level: level, options: options,
      wholeBelow: wholeBelow, planned: input.hasRival, cancellation: run.cancellation)
    let job = CompressJob(of: source, output: stream, transform: transform, report: report)
    return Prepared(job, over: source, total: total) { $0 }
  }
}

/// Decompresses files with a known suffix, one output for each.
package struct DecompressCall: Call {
  private var options: OutputOptions
  /// The largest decompressed size of one file in bytes; nil for no limit.
  private let mostOutput: UInt64?
  /// Receives the content of standard input.
  package var stream: any ResultStream = NoStream()

  package init(_ options: OutputOptions, mostOutput: UInt64?) {
    (self.options, self.mostOutput) = (options, mostOutput)
  }

  package var outputs: OutputOptions? {
    get { options }
    set { options = newValue ?? options }
  }

  package var division: Division? { Division(transforming: options, naming: options.naming) }

  package func verdict(_ tally: CallTally) -> CallVerdict { .ofOutputs(tally) }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping TransformCollector.Report
  ) throws(BatchError) -> Prepared<TransformCounts> {
    let (tree, total) = try input.sources(options, in: run)
    let source = DecompressSource(
      tree, operands: input.operands, naming: options.naming, planned: input.hasRival)
    let decoding = DecoderOptions(run.options, maximumOutput: mostOutput)
    let job = DecompressJob(options, decoding: decoding, asked: source.asked, output: stream, report: report)
    return Prepared(job, over: source, total: total) { $0 }
  }
}

/// Writes the decompressed contents of files to a stream, one after the other.
package struct CatCall: Call {
  package var stream: any ResultStream = NoStream()
  /// The largest decompressed size of one file in bytes; nil for no limit.
  private let mostOutput: UInt64?
  /// Parts of a large file that are decoded at once; 1 or more.
  package var width = 1

  package init(mostOutput: UInt64?) { self.mostOutput = mostOutput }

  package var limits: CallLimits { CallLimits(isSerial: true) }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    let counts = tally.counts
    return CallVerdict(counts).adding(
      .nothing, if: counts.missing > 0 && counts.missing == tally.paths && counts.done == 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Never) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<DecompressToStreamJob.Sizes> {
    let (tree, total) = try input.tree(in: run) { $0.skipsTemporaries = true }
    let decoding = DecoderOptions(run.options, maximumOutput: mostOutput)
    let job = DecompressToStreamJob(decoding, width: width, output: stream)
    var prepared = Prepared(job, over: tree, total: total) { $0 }
    prepared.complete = { [stream] (_) throws(BatchError) in try stream.finish() }
    return prepared
  }
}

extension DecompressToStreamJob.Sizes: CallResult {}

extension TransformCounts: CallResult {
  package var findings: [String: Int] { ["outputs": written + upToDate + linked + copied] }
}

extension CallVerdict {
  /// The verdict of a run with one output for each source.
  static func ofOutputs(_ tally: CallTally) -> CallVerdict {
    let isRefused = tally.counts.refused > 0 && tally.findings["outputs"] == 0
    let verdict = CallVerdict(tally.counts)
    // The target is the reason, not the sources.
    guard tally.counts.spoilt > 0 || isRefused else { return verdict }
    return verdict.subtracting(.nothing).union(.incomplete)
  }
}

extension Division {
  /// - Parameter naming: the naming of the outputs, if several sources can have one output.
  fileprivate init(transforming options: OutputOptions, naming: OutputNaming?) {
    self.init(unit: .sources(naming: naming), join: .receipts)
    outputs = [options.naming.directory].compactMap { $0 }
    skipsTemporaries = true
    checksFolders = false
    takesOnePath = true
  }
}

extension CallInput {
  /// The paths, if all are known; the tree of a plan has one.
  fileprivate var operands: [PathBytes]? {
    switch self {
    case .paths(let operands, _): operands.known
    case .shard(let work): work.operands
    case .items: nil
    }
  }

  /// Whether a file beside the last one may have the same output, from a plan; nil if that must be determined by the source.
  fileprivate var hasRival: (() -> Bool)? {
    guard case .shard(let work) = self else { return nil }
    return { work.player.mayHaveRival }
  }

  /// The files to process; their outputs are excluded, and the folder of the outputs exists.
  fileprivate func sources(
    _ options: OutputOptions, in run: RunContext
  ) throws(BatchError) -> (tree: TreeSource, total: ResultOperation<Counters.Snapshot>?) {
    // A dry run creates no folder, and excludes an existing one.
    let folder =
      options.isDryRun
      ? options.naming.directory.flatMap(StandardStreams.identity)
      : try options.naming.makeDirectory(by: run.calls)
    return try tree(in: run) { walk in
      walk.skipsTemporaries = true
      if let folder { walk.excluded.insert(folder) }
    }
  }
}
