import BatchCore
import BatchEngine

struct HashCommand: DividedCommand {
  private let options: HashOptions
  private let operands: [PathBytes]
  private var call: HashCall
  private let shard: ShardTask?
  let session: Session

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) throws -> HashCall {
    let options = HashOptions(parsed)
    var call = HashCall(try options.writer())
    if let path = options.output {
      var file = CallOutput.File(path, isReplacing: options.replacesOutput, isSynced: common.fsync)
      file.terminalFilter = TerminalText.escapeControls
      call.output = .file(file)
    }
    return call
  }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    options = HashOptions(parsed)
    operands = parsed.operands
    self.shard = shard
    call = try Self.makeCall(parsed, common: common, environment: environment)
    if shard != nil { call.output = .none }
    session = try Session(common, environment: environment, for: &call, shard: shard)
    if shard == nil, options.output == nil {
      if session.events == nil {
        call.output = .stream(session.output)
      } else {
        call = HashCall(try ManifestWriter(.json, algorithms: options.algorithms))
      }
    }
    if options.usesCache, !common.dryRun { call.cache = session.cache(verifiedShare: options.verifiedShare) }
  }

  func run() throws(BatchError) -> Ending {
    if let shard {
      return try shard.run(call, in: session) { [session] (rows, result) throws(BatchError) in
        try result.write(rows: rows.bytes)
        session.advanced(rows.count)
      } finish: {
        finish($0)
      }
    }
    var walk = try session.walkOptions()
    if let identity = StandardStreams.outputFile { walk.excluded.insert(identity) }
    let operands = session.operands(operands)
    if common.dryRun {
      return try DryRun(session: session, verb: "would hash", isNULEnded: options.endsRowsInNUL).run(
        operands, walk)
    }
    let results = ResultWriter(session)
    let outcome = try session.run(call, .paths(operands, walk)) { [call, session] (rows) throws(BatchError) in
      if case .none = call.output { try results.write(rows) } else { session.advanced(rows.count) }
    }
    return finish(outcome)
  }

  private func finish(_ outcome: CallOutcome<HashCall.Result>) -> Ending {
    session.ending(outcome, writesOutput: options.output == nil) { result in
      if let failure = result.cacheFailure { session.diagnostics.report(failure, as: .warning) }
      let counts = outcome.summary.counts
      return SummaryText(
        verb: shard?.verb("hashed") ?? "hashed", files: counts.done, bytes: counts.byteCount,
        others: [
          (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
          (counts.failed, "failed"), (result.known, "known"), (result.rotten, "rotten"),
        ], tallies: call.cache == nil ? [] : [(result.known, "known"), (result.rotten, "rot")])
    }
  }
}
