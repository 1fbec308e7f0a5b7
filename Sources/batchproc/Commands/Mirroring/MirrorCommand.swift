import BatchCore
import BatchEngine
import BatchOutputs

/// `batchproc mirror`
struct MirrorCommand: Command {
  private let choices: MirrorChoices
  private var call: MirrorCall
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment) throws {
    choices = try MirrorChoices(parsed, common: common)
    call = MirrorCall(choices.target, choices.options)
    if let path = choices.output {
      var file = CallOutput.File(path, isReplacing: choices.replacesOutput, isSynced: common.fsync)
      file.terminalFilter = TerminalText.escapeControls
      call.output = .file(file)
    }
    session = try Session(
      common, environment: environment, for: &call, resumes: !common.dryRun, rate: choices.rate)
    if choices.options.makesDigests, !common.dryRun { call.cache = session.cache(verifiedShare: 0) }
  }

  func run() throws(BatchError) -> Ending {
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
        verb: common.dryRun ? "would mirror" : "mirrored", files: result.copied, bytes: result.bytes,
        kinds: [(result.folders, common.dryRun ? "new folder" : "folder")],
        others: [
          (result.nodes, "links and special files"), (result.linked, "hard links"),
          (result.described, "with new metadata"), (result.removed, "removed"),
          (result.verified, "verified"), (result.different, "different"),
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
      try events.write("file") { line in
        line.add(path: report.path)
        line.add("outcome", report.outcome.rawValue)
      }
      return
    }
    let isDone = report.outcome != .upToDate && report.outcome != .kept
    if common.dryRun {
      if isDone { try output.write(report.row) }
    } else if common.verbose, isDone {
      diagnostics.print(String(decoding: TerminalText.escapeControls(Array(report.row.dropLast())), as: UTF8.self))
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
