import BatchCore
import BatchEngine
import BatchOutputs

typealias CompressCommand = TransformCommand<CompressCall>
typealias DecompressCommand = TransformCommand<DecompressCall>

/// A call that writes one output for each source.
protocol TransformCall: Call<TransformReport, TransformCounts> {
  /// "compress" or "decompress".
  static var verb: String { get }
  static var compresses: Bool { get }
  /// Receives the output of standard input, and all outputs if no files are written.
  var stream: any ResultStream { get set }

  init(_ choices: TransformChoices, _ options: OutputOptions)
}

extension CompressCall: TransformCall {
  static var verb: String { "compress" }
  static var compresses: Bool { true }

  init(_ choices: TransformChoices, _ options: OutputOptions) {
    self.init(choices.format, level: choices.level, options)
  }
}

extension DecompressCall: TransformCall {
  static var verb: String { "decompress" }
  static var compresses: Bool { false }

  init(_ choices: TransformChoices, _ options: OutputOptions) {
    self.init(options, mostOutput: choices.maximumOutput.map { UInt64(clamping: $0) })
  }
}

/// `batchproc compress` and `batchproc decompress`.
struct TransformCommand<Job: TransformCall>: DividedCommand {
  private let choices: TransformChoices
  private let operands: [PathBytes]
  private var call: Job
  let session: Session
  private var naming: OutputNaming { choices.outputs.naming }
  private let tally: TransformTally
  private var rows: TransformRows { TransformRows(session: session, tally: tally) }
  private let shard: ShardTask?

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) throws -> Job {
    let choices = try TransformChoices(parsed, compresses: Job.compresses)
    var options = choices.outputs
    options.isSynced = common.fsync
    options.isDryRun = common.dryRun
    return Job(choices, options)
  }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    choices = try TransformChoices(parsed, compresses: Job.compresses)
    try DataOnOutput.refuseEvents(parsed, common, isStream: choices.writesToStdout)
    operands = parsed.operands
    self.shard = shard
    call = try Self.makeCall(parsed, common: common, environment: environment)
    let tally = TransformTally(namesEach: common.verbose || common.json)
    self.tally = tally
    session = try Session(
      common, environment: environment, for: &call,
      resumes: !choices.writesToStdout && !parsed.operands.contains("-") && !common.dryRun, shard: shard,
      observing: tally.observing)
    call.stream = session.output
  }

  func run() throws(BatchError) -> Ending {
    if let shard {
      return try shard.run(call, in: session) { [rows] (report, result) throws(BatchError) in
        try rows.tell(report)
        try result.write(rows: report.receipt)
      } finish: {
        finish($0, of: self.operands.count)
      }
    }
    try checkStreams()
    let operands = session.operands(operands)
    let input = CallInput.paths(operands, try session.walkOptions())
    let outcome = try session.run(call, input) { [rows] (report) throws(BatchError) in try rows.tell(report) }
    return finish(outcome, of: operands.count)
  }

  /// - Throws: `invalid` when compressed data would go to a terminal.
  private func checkStreams() throws(BatchError) {
    guard operands.contains("-") || choices.writesToStdout, !common.dryRun, Job.compresses,
      choices.outputs.replacing != .always, StandardStreams.isTerminal(.output)
    else { return }
    throw BatchError(
      .invalid, "compressed data is not written to a terminal",
      remedy: "redirect standard output, or give --force")
  }

  private func finish(_ outcome: CallOutcome<TransformCounts>, of operandCount: Int) -> Ending {
    let refusal = tally.refusal(of: naming.directory ?? (operandCount == 1 ? operands.first : nil))
    if outcome.summary.stopped != nil { tally.passOn() }
    return session.ending(outcome) { outputs in
      if let refusal { session.reporter.fatal(refusal) }
      return summary(outcome.summary.counts, outputs)
    } advise: { outputs in
      if refusal == nil, !common.dryRun { advise(outputs) }
    }
  }

  private func summary(_ counts: Counters.Snapshot, _ outputs: TransformCounts) -> SummaryText {
    // The sizes of outputs are known only when they are written: a dry run counts the bytes that would be read.
    guard !common.dryRun else {
      return SummaryText(
        verb: "would \(Job.verb)", files: counts.done, bytes: counts.byteCount, others: counts.unprocessed,
        showsRate: false)
    }
    let gaps = tally.gaps
    let sizes = (plain: outputs.plainBytes, compressed: outputs.compressedBytes)
    return SummaryText(
      verb: shard?.verb("\(Job.verb)ed") ?? "\(Job.verb)ed", files: counts.done - outputs.copied,
      bytes: Job.compresses ? sizes.plain : sizes.compressed,
      output: Job.compresses ? sizes.compressed : sizes.plain,
      others: [(outputs.replaced, "replaced"), (outputs.linked, "linked"), (outputs.copied, "copied")]
        + gaps.words + counts.unprocessed,
      tallies: [
        (outputs.written, "written"), (outputs.upToDate, "up_to_date"),
        (outputs.compressedAlready, "compressed_already"), (outputs.notSmaller, "not_smaller"),
        (outputs.linked, "linked"), (outputs.replaced, "replaced"), (outputs.copied, "copied"),
        (Int(clamping: sizes.plain), "plain_bytes"), (Int(clamping: sizes.compressed), "compressed_bytes"),
      ] + (Job.compresses ? [] : gaps.tallies))
  }
}

extension TransformCommand {
  /// Reports files that a run left out but the user may have meant.
  private func advise(_ outputs: TransformCounts) {
    let left = outputs.notSmaller + outputs.compressedAlready
    if let directory = naming.directory, Job.compresses, left > 0, !choices.outputs.copiesOthers {
      let text =
        "\(ByteCount.files(left)) without an output here; --copy-others copies files that do not become smaller"
      session.warn(BatchError(.special, text, path: directory), as: .note)
    }
    if choices.level != nil, outputs.written == 0, outputs.upToDate > 0 {
      session.warn(
        BatchError(
          .special, "outputs that are up to date keep their level; --force compresses again"),
        as: .note)
    }
  }
}
