import BatchCore
import BatchEngine
import BatchOutputs

/// `batchproc mirror`
struct MirrorCommand: DividedCommand {
  private let choices: MirrorChoices
  private var call: MirrorCall
  private let shard: ShardTask?
  let session: Session

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) throws -> MirrorCall {
    let choices = try MirrorChoices(parsed, common: common)
    var call = MirrorCall(choices.sources, into: choices.target, choices.options)
    if let path = choices.output {
      var file = CallOutput.File(path, isReplacing: choices.replacesOutput, isSynced: common.fsync)
      file.terminalFilter = TerminalText.escapeControls
      call.output = .file(file)
    }
    return call
  }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    choices = try MirrorChoices(parsed, common: common)
    self.shard = shard
    call = try Self.makeCall(parsed, common: common, environment: environment)
    if shard != nil { call.output = .none }
    session = try Session(
      common, environment: environment, for: &call, resumes: !common.dryRun, shard: shard)
    if choices.options.makesDigests, !common.dryRun {
      call.cache = shard == nil ? session.cache(verifiedShare: 0) : session.cacheOfShard()
    }
  }

  static func merged(_ tally: CallTally) -> MergedCounts {
    MergedCounts(
      files: tally.findings["copied"] ?? 0,
      words: [(tally.counts.done, "paths made or changed"), (tally.findings["different"] ?? 0, "different")])
  }

  func run() throws(BatchError) -> Ending {
    if let shard {
      return try shard.run(call, in: session) { [session] (report, _) throws(BatchError) in
        try session.report(report)
      } finish: {
        finish($0)
      }
    }
    var walk = try session.walkOptions()
    if let identity = StandardStreams.outputFile { walk.excluded.insert(identity) }
    let operands = session.operands(choices.sources)
    let outcome = try session.run(call, .paths(operands, walk)) { [session] (report) throws(BatchError) in
      try session.report(report)
    }
    return finish(outcome)
  }

  private func finish(_ outcome: CallOutcome<MirrorResult>) -> Ending {
    session.ending(outcome, writesOutput: common.dryRun) { result in
      warn(of: result)
      let counts = outcome.summary.counts
      return SummaryText(
        verb: common.dryRun ? "would mirror" : shard?.verb("mirrored") ?? "mirrored", files: result.copied,
        bytes: result.bytes,
        kinds: [(result.folders, common.dryRun ? "new folder" : "folder")],
        others: [
          (result.nodes, "links and special files"), (result.linked, "hard links"),
          (result.described, "with new metadata"), (result.removed, "removed"),
          (result.verified, "verified"), (result.different, "different"), (result.rotten, "rotten"),
        ] + counts.unprocessed,
        tallies: [
          (result.copied, "copied"), (Int(clamping: result.bytes), "copied_bytes"),
          (result.folders, "folders"), (result.nodes, "special"), (result.linked, "linked"),
          (result.described, "described"), (result.removed, "removed"), (result.verified, "verified"),
          (result.different, "different"),
        ])
    }
  }

  private func warn(of result: MirrorResult) {
    if let refusal = result.refusal { session.reporter.fatal(refusal) }
    if let failure = result.failure { session.reporter.fatal(failure) }
    for (text, path, count) in result.losses {
      session.warn(
        BatchError(
          .special, "\(ByteCount.counted(count, "path")) made \(text); this is the first", path: path))
    }
    if result.isUnproved {
      session.warn(
        BatchError(
          .special, "is in memory, so reading it back proves nothing about a disk", path: choices.target))
    }
  }
}

extension Session {
  /// Names what was done, if that is requested.
  fileprivate func report(_ report: MirrorReport) throws(BatchError) {
    advanced(1)
    if let events {
      try events.write("mirrored") { line in
        line.add(path: report.path)
        line.add("outcome", report.outcome.rawValue)
      }
      return
    }
    let isDone = report.outcome != .upToDate && report.outcome != .kept
    if common.dryRun {
      if isDone { try output.write(report.row) }
    } else if common.verbose, isDone {
      diagnostics.print(
        String(decoding: TerminalText.escapeControls(Array(report.row.dropLast())), as: UTF8.self))
    }
  }
}

extension MirrorReport {
  /// `copy srv/a`: what is done to which place below the target.
  fileprivate var row: [UInt8] {
    let verb =
      switch outcome {
      case .copied: kind == .directory ? "make" : "copy"
      case .updated: "update"
      case .linked: "link"
      case .described: "describe"
      case .removed: "delete"
      case .upToDate, .kept: "keep"
      }
    let name = place.bytes.isEmpty ? Array(".".utf8) : place.bytes
    return Array("\(verb) ".utf8) + name + [UInt8(ascii: "\n")]
  }
}
