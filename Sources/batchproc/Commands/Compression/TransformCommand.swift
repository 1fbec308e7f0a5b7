import BatchCore
import BatchEngine
import BatchOutputs

/// `batchproc compress` and `batchproc decompress`.
struct TransformCommand: Command {
  private let choices: TransformChoices
  private let compresses: Bool
  private let operands: [PathBytes]
  private let options: OutputOptions
  let session: Session
  private var naming: OutputNaming { options.naming }
  private let tally: TransformTally
  /// The shard of a plan that is processed; nil without one.
  private let task: ShardTask?

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: Environment, task: ShardTask? = nil
  ) throws {
    let choices = try TransformChoices(parsed)
    self.choices = choices
    self.task = task
    if common.json, !common.dryRun, choices.writesToStdout || parsed.operands.contains("-") {
      let option = choices.writesToStdout ? "--stdout" : "-"
      throw UsageError(
        "--json cannot be used with \(option): standard output carries the data.",
        in: parsed.command)
    }
    let compresses = parsed.command.id == .compress
    self.compresses = compresses
    operands = parsed.operands
    var options = choices.outputs
    options.isSynced = common.fsync
    options.isDryRun = common.dryRun
    let laneMemory = compresses ? try choices.format.memoryOfLane(level: choices.level) : 0
    let tally = TransformTally(namesEach: common.verbose || common.json)
    self.tally = tally
    session = try Session(
      common, environment: environment, outputs: choices.writesToStdout ? nil : options,
      laneMemory: laneMemory, isOrdered: !compresses && choices.writesToStdout,
      resumes: !choices.writesToStdout && !parsed.operands.contains("-") && !common.dryRun,
      inputs: task == nil ? 0 : 4
    ) { tally.observing(task?.recording($0) ?? $0) }
    self.options = session.outputs ?? options
  }

  func run() throws(BatchError) -> Ending {
    if let task {
      // Outputs beside their sources change the times of folders, so folders are not checked.
      return try task.run(session, checksFolders: false) { (work) throws(BatchError) in
        try process(work, task)
      }
    }
    try checkStreams()
    var walk = try session.walkOptions()
    walk.skipsTemporaries = true
    // A dry run creates no folder, and excludes an existing one.
    let directory =
      common.dryRun
      ? naming.directory.flatMap(StandardStreams.identity)
      : try naming.makeDirectory(by: session.context.calls)
    if let directory { walk.excluded.insert(directory) }
    let known = common.fileLists.isEmpty ? self.operands : nil
    let operands = Operands(operands, lists: common.fileLists, run: session.context)
    let total = operands.total(walk)
    let tree = session.context.tree(operands.counted, options: walk)
    if !compresses, choices.writesToStdout {
      guard common.dryRun else { return writeContents(of: tree, total: total, operands) }
      return DryRun(session: session, verb: "would decompress").run(
        over: tree, total: total
      ) { [naming] record in
        naming.target(of: record.path) == nil && !record.isOperand ? nil : record.path
      }
    }
    let outcome =
      try compresses
      ? compress(
        CompressSource(
          tree, operandCount: known?.count, format: choices.format, level: choices.level, options: options,
          cancellation: session.cancellation), total: total, report: tell)
      : decompress(DecompressSource(tree, operands: known, naming: naming), total: total, report: tell)
    return finish(outcome)
  }

  private func compress(
    _ source: sending CompressSource, total: ResultOperation<Counters.Snapshot>?,
    report: @escaping TransformCollector.Report
  ) throws(BatchError) -> RunOutcome<TransformCounts> {
    let job = CompressJob(of: source, output: session.output, report: report)
    return session.run(job, over: source, total: total)
  }

  private func decompress(
    _ source: sending DecompressSource, total: ResultOperation<Counters.Snapshot>?,
    report: @escaping TransformCollector.Report
  ) -> RunOutcome<TransformCounts> {
    let job = DecompressJob(
      options, decoding: decoding, asked: source.asked, output: session.output, report: report)
    return session.run(job, over: source, total: total)
  }

  private func process(
    _ work: sending ShardTask.Work, _ task: ShardTask
  ) throws(BatchError) -> ShardTask.Processed {
    _ = try naming.makeDirectory(by: session.context.calls)
    let (session, counters) = (session, session.context.counters)
    let (result, lock, player) = (work.result, work.lock, work.player)
    let tree = session.context.tree { player.next() }
    let record: TransformCollector.Report = { (report) throws(BatchError) in
      try tell(report)
      try result.write(rows: report.receipt)
      lock.note(counters.snapshot, error: nil)
    }
    let outcome: RunOutcome<TransformCounts>
    if compresses {
      let source = try CompressSource(
        tree, operandCount: operands.count, format: choices.format, level: choices.level, options: options,
        planned: { player.mayHaveRival }, cancellation: session.cancellation)
      outcome = try compress(source, total: task.count, report: record)
    } else {
      let source = DecompressSource(tree, operands: operands, naming: naming) { player.mayHaveRival }
      outcome = decompress(source, total: task.count, report: record)
    }
    return ShardTask.Processed(summary: outcome.summary, ending: finish(outcome))
  }

  private var decoding: DecoderOptions {
    DecoderOptions(
      maximumOutput: choices.maximumOutput.map { UInt64(clamping: $0) },
      memory: session.context.options.memory)
  }

  /// - Throws: `invalid` when compressed data would go to a terminal.
  private func checkStreams() throws(BatchError) {
    guard operands.contains("-") || choices.writesToStdout, !common.dryRun else { return }
    guard compresses, options.replacing != .always, StandardStreams.isTerminal(.output) else {
      return
    }
    throw BatchError(
      .invalid, "compressed data is not written to a terminal",
      remedy: "redirect standard output, or give --force")
  }

  private func writeContents(
    of tree: sending TreeSource, total: ResultOperation<Counters.Snapshot>?, _ operands: Operands
  ) -> Ending {
    let job = DecompressToStreamJob(decoding, width: session.width, output: session.output)
    let outcome = session.run(job, over: tree, total: total)
    let summary = outcome.summary
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let counts = summary.counts
    let sizes = outcome.result ?? DecompressToStreamJob.Sizes()
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "decompressed", files: counts.done, bytes: sizes.compressed, output: sizes.plain,
        others: counts.unprocessed))
    if counts.missing > 0, counts.missing == operands.count, counts.done == 0 {
      return .exit(.fatal)
    }
    return .exit(ExitStatus(counts))
  }

  private func tell(_ report: TransformReport) throws(BatchError) {
    tally.add(report)
    if common.dryRun { return try list(report) }
    session.advanced(1)
    if let events = session.events {
      try events.write("file") { line in
        line.add(path: report.source)
        line.add("outcome", report.outcome.word)
        if case .written(let target, let plain, let compressed) = report.outcome {
          line.add(path: target, as: "output")
          line.add("size", plain)
          line.add("compressed", compressed)
          line.add("replaced", report.hasReplaced)
        }
        if case .copied(let target, let size) = report.outcome {
          line.add(path: target, as: "output")
          line.add("size", size)
        }
        if let gap = report.checkGap { line.add(gap) }
      }
    } else if common.verbose {
      session.diagnostics.print(report.line)
    }
  }

  /// Lists an output that a dry run would write.
  private func list(_ report: TransformReport) throws(BatchError) {
    guard case .planned(let target, _) = report.outcome else { return session.advanced(1) }
    let results = ResultWriter(session)
    var row = ResultRows()
    row.append { results.append(name: target, to: &$0) }
    try results.write(row)
  }

  private func finish(_ outcome: RunOutcome<TransformCounts>) -> Ending {
    let summary = outcome.summary
    let refusal = tally.refusal(
      of: naming.directory ?? (operands.count == 1 ? operands.first : nil))
    if summary.stopped != nil { tally.passOn() }
    if let ending = session.endingBeforeSummary(summary) { return ending }
    if let refusal { session.reporter.fatal(refusal) }
    let counts = summary.counts
    let outputs = outcome.result ?? TransformCounts()
    let gaps = tally.current.gaps
    // The sizes of outputs are known only when they are written: a dry run counts the bytes that would be read.
    let plan = SummaryText(
      verb: compresses ? "would compress" : "would decompress", files: counts.done,
      bytes: counts.byteCount,
      others: counts.unprocessed, showsRate: false)
    session.reporter.summary(
      summary,
      text: common.dryRun
        ? plan
        : SummaryText(
          verb: compresses ? "compressed" : "decompressed", files: counts.done - outputs.copied,
          bytes: compresses ? outputs.plainBytes : outputs.compressedBytes,
          output: compresses ? outputs.compressedBytes : outputs.plainBytes,
          others: [
            (outputs.replaced, "replaced"), (outputs.linked, "linked"), (outputs.copied, "copied"),
          ]
            + gaps.words + counts.unprocessed,
          tallies: [
            (outputs.written, "written"), (outputs.upToDate, "up_to_date"),
            (outputs.compressedAlready, "compressed_already"), (outputs.notSmaller, "not_smaller"),
            (outputs.linked, "linked"), (outputs.replaced, "replaced"), (outputs.copied, "copied"),
            (Int(clamping: outputs.plainBytes), "plain_bytes"),
            (Int(clamping: outputs.compressedBytes), "compressed_bytes"),
          ] + (compresses ? [] : gaps.tallies)))
    if refusal == nil, !common.dryRun { advise(outputs) }
    if tally.current.spoilt > 0 || refusal != nil { return .exit(.outputIncomplete) }
    return .exit(ExitStatus(counts))
  }
}

extension TransformCommand {
  /// Reports files that a run left out but the user may have meant.
  private func advise(_ outputs: TransformCounts) {
    let left = outputs.notSmaller + outputs.compressedAlready
    if let directory = naming.directory, compresses, left > 0, !options.copiesOthers {
      let text =
        "\(ByteCount.files(left)) got no output here; --copy-others copies what does not get smaller"
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

extension OutputOutcome {
  /// The name of the outcome in JSON.
  fileprivate var word: String {
    switch self {
    case .written: "written"
    case .upToDate: "up_to_date"
    case .compressedAlready: "compressed_already"
    case .notSmaller: "not_smaller"
    case .linked: "linked"
    case .copied: "copied"
    case .planned: "planned"
    }
  }
}

extension TransformReport {
  /// A line of JSON in the result of a shard.
  fileprivate var receipt: [UInt8] {
    var receipt = [UInt8]()
    JSONLine.append(to: &receipt) { line in
      line.add(path: source)
      line.add("outcome", outcome.word)
      switch outcome {
      case .written(let target, let plain, let compressed):
        line.add(path: target, as: "output")
        line.add("size", plain)
        line.add("compressed", compressed)
      case .linked(let target), .copied(let target, _), .planned(let target, _):
        line.add(path: target, as: "output")
      case .upToDate, .compressedAlready, .notSmaller: break
      }
      if let checkGap { line.add("check", checkGap.word) }
    }
    return receipt
  }

  /// A line for the user, with `-v`.
  fileprivate var line: String {
    let text: String
    switch outcome {
    case .written(let target, let plain, let compressed):
      let ratio =
        plain > 0 ? Double(min(plain, compressed)) / Double(max(plain, compressed)) * 100 : 100
      text =
        "\(Int(ratio.rounded())) %, \(TerminalText.string(target.bytes))" + (hasReplaced ? ", replaced" : "")
        + (checkGap.map { ", \($0.message)" } ?? "")
    case .upToDate: text = "up to date"
    case .compressedAlready: text = "compressed already"
    case .notSmaller: text = "would not be smaller"
    case .linked(let target): text = "linked to \(TerminalText.string(target.bytes))"
    case .copied(let target, _): text = "copied to \(TerminalText.string(target.bytes))"
    case .planned(let target, _): text = TerminalText.string(target.bytes)
    }
    return "\(TerminalText.string(source.bytes)): \(text)"
  }
}
