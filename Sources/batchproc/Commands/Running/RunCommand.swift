import BatchCore
import BatchEngine
import BatchOutputs

/// `batchproc run`
struct RunCommand: DividedCommand {
  private let choices: RunChoices
  private let operands: [PathBytes]
  private var call: RunCall
  private let shard: ShardTask?
  private let log: OutputFile?
  let session: Session

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) throws -> RunCall {
    RunCall(try RunChoices(parsed, common: common, environment: environment).options)
  }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    choices = try RunChoices(parsed, common: common, environment: environment)
    operands = parsed.operands
    self.shard = shard
    call = RunCall(choices.options)
    guard !operands.contains("-") else {
      throw UsageError("Standard input is no file; --files-from=- reads paths from it.", in: parsed.command)
    }
    let session = try Session(
      common, environment: environment, for: &call,
      resumes: choices.options.kind != .passedOn && !common.dryRun, shard: shard)
    self.session = session
    log = try choices.log.map { (path) throws(BatchError) in
      try OutputFile(
        path, isReplacing: Self.isLog(path, session.context.calls), isSynced: common.fsync,
        in: session.context)
    }
    if let shard {
      call.options.environment.append(PathBytes("BATCHPROC_SHARD=\(shard.shard.index)"))
    }
    if choices.isLive {
      let diagnostics = session.diagnostics
      call.options.liveErrors = { (path, lines) in
        RunRows.print(lines, of: path, to: diagnostics)
      }
    }
  }

  /// Whether a file is the log of an earlier run, which is replaced. Any other file is kept.
  private static func isLog(_ path: PathBytes, _ calls: any FileSystemCalls) -> Bool {
    guard let file = try? calls.openFile(path, in: nil, followingLast: false) else { return false }
    let start = Array("{\"path".utf8)
    var found = [UInt8](repeating: 0, count: start.count)
    let raw = file.raw
    return found.withUnsafeMutableBytes { calls.read(raw, into: $0, at: 0) } == start.count && found == start
  }

  func run() throws(BatchError) -> Ending {
    let rows = RunRows(session: session, log: log, printsErrors: !choices.isLive)
    if let shard {
      let isPassedOn = choices.options.kind == .passedOn
      let ending = try shard.run(call, in: session) { (report, result) throws(BatchError) in
        try rows.report(report, to: isPassedOn ? result : nil)
        if !isPassedOn { try result.write(rows: report.receipt) }
      } finish: {
        finish($0)
      }
      return ending
    }
    var walk = try session.walkOptions()
    if let identity = log?.identity { walk.excluded.insert(identity) }
    let outcome = try session.run(call, .paths(session.operands(operands), walk)) {
      (report) throws(BatchError) in try rows.report(report, to: nil)
    }
    return finish(outcome)
  }

  private func finish(_ outcome: CallOutcome<RunCounts>) -> Ending {
    if let log {
      // The log of a run that was stopped is complete too: it names the children that ended.
      do throws(BatchError) { try log.finish() } catch { return session.ending(after: error) }
    }
    return session.ending(outcome) { counts in
      let all = outcome.summary.counts
      guard !common.dryRun else {
        return SummaryText(
          verb: "would run", files: all.done, bytes: nil, others: all.unprocessed, showsRate: false)
      }
      return SummaryText(
        verb: shard?.verb("ran") ?? "ran", files: counts.ran, bytes: nil,
        others: [
          (counts.written, "written"), (counts.replaced, "replaced"), (counts.unchanged, "unchanged"),
        ] + all.unprocessed,
        showsRate: false,
        tallies: [
          (counts.ran, "ran"), (counts.written, "written"), (counts.replaced, "replaced"),
          (counts.unchanged, "unchanged"), (counts.upToDate, "up_to_date"),
          (Int(clamping: counts.writtenBytes), "written_bytes"),
        ])
    }
  }
}
