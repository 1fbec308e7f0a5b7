import BatchCore
import BatchEngine
import BatchOutputs

struct MergeCommand: Command {
  private let folder: PlanFolder
  private let plan: ShardPlan
  private let planned: ParsedCommand
  /// Nil for standard output.
  private let output: PathBytes?
  /// Whether there are rows to write; for commands that print nothing, only if requested.
  private let writesRows: Bool
  private let replacesOutput: Bool
  private let allowsMissing: Bool
  private let removesParts: Bool
  private let tally = MemberTally()
  let session: Session

  init(_ parsed: ParsedCommand, environment: Environment) throws {
    folder = try PlanFolder(
      WorkingFolder.absolute(parsed.operands.first ?? "."), calls: LinuxCalls())
    plan = try ShardPlan(in: folder)
    try plan.require(version: Version.number, in: folder)
    planned = try PlannedCommand(plan, in: parsed.command).parsed
    // Root's plan does not decide which file of another user is replaced.
    let isOwn = try folder.isOwn()
    guard isOwn || parsed.bytes(.output) != nil || planned.bytes(.output) == nil else {
      throw UsageError(
        "The plan belongs to another user: name the output with '--output <file>', and add --force to replace it.",
        in: parsed.command)
    }
    let target = parsed.bytes(.output) ?? planned.bytes(.output)
    writesRows = ![.compress, .decompress, .test].contains(planned.command.id) || target != nil
    output = target == "-" ? nil : target
    replacesOutput = parsed.flag(.force) || isOwn && planned.flag(.force)
    allowsMissing = parsed.flag(.allowMissing)
    removesParts = parsed.flag(.removeParts)
    let common = try CommonOptions(parsed)
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    if let output { try OutputFile.check(output, isReplacing: replacesOutput, in: session.context) }
    let results = try ShardResults(of: plan, in: folder, session.context)
    for fault in results.faults { session.diagnostics.report(fault) }
    guard results.faults.isEmpty || allowsMissing else {
      session.reporter.fatal(
        BatchError(
          .unwritable, "nothing is merged: \(results.faults.count) of the results do not count",
          path: folder.path,
          remedy: "run these shards again, or give --allow-missing"))
      return .exit(.outputIncomplete)
    }
    var outcome = results.outcome
    guard status(of: outcome) != .fatal || planned.command.id == .check else {
      try results.forEachRow { _ in
      } problem: { (problem, severity) in
        session.reporter.met(problem, severity: severity)
      }
      return .exit(.fatal)
    }
    let file = try output.map { (path) throws(BatchError) in
      try FolderMaker(calls: session.context.calls, isSynced: common.fsync).makeLast(path.parent)
      try requireRoom(for: results.size, at: path)
      return try OutputFile(
        path, isReplacing: replacesOutput, isSynced: common.fsync, in: session.context,
        terminalFilter: TerminalText.escapeControls)
    }
    do throws(BatchError) {
      try write(results, &outcome, to: file ?? session.output)
      try session.cancellation.check()
      try (file ?? session.output).finish()
    } catch {
      file?.discard()
      throw error
    }
    if removesParts, results.faults.isEmpty, file != nil || !writesRows {
      for error in results.removeParts(by: session.context.commits) {
        session.diagnostics.report(error, as: .warning)
      }
    }
    summarize(results, outcome)
    let status = status(of: outcome)
    return .exit(status == .success && !results.faults.isEmpty ? .someFailed : status)
  }

  /// - Throws: `unwritable` if there is not enough space: the output takes about as much as the results.
  private func requireRoom(for size: Int64, at path: PathBytes) throws(BatchError) {
    guard !OutputFile.isDevice(path),
      let free = try OpenFolder(of: path, calls: session.context.calls).freeBytes, free < size
    else { return }
    throw BatchError(
      .unwritable,
      "the output needs about \(ByteCount.text(size)), and \(ByteCount.text(free)) are free there",
      path: path, remedy: "make room, or name another place with --output")
  }

  /// The exit status that the command would have on one machine.
  private func status(of outcome: ShardOutcome) -> ExitStatus {
    switch planned.command.id {
    case .check: return verdict(outcome).status
    case .test where TestCounts(outcome.findings).damaged > 0: return .differences
    case .archive:
      let counts = outcome.counts
      let isFatal = counts.done == 0 && counts.missing > 0 && counts.missing == plan.operandCount
      return isFatal ? .fatal : counts.failed > 0 ? .someFailed : .success
    default: return ExitStatus(counts(of: outcome))
    }
  }

  private func verdict(_ outcome: ShardOutcome) -> CheckVerdict {
    CheckVerdict(
      CheckTally(outcome.findings), manifestCount: plan.operandCount, options: CheckOptions(planned))
  }

  private func counts(of outcome: ShardOutcome) -> Counters.Snapshot {
    var counts = outcome.counts
    counts.seen += plan.filtered
    counts.skipped += plan.filtered
    if outcome.needless > 0 { counts.reasons[.kept] = outcome.needless }
    return counts
  }

  private func write(
    _ results: ShardResults, _ outcome: inout ShardOutcome, to stream: any ResultStream
  ) throws(BatchError) {
    if planned.command.id == .archive {
      try join(results, &outcome, to: stream)
    } else {
      var header: [UInt8] = []
      if planned.command.id == .hash {
        let options = HashOptions(planned)
        try options.writer().appendHeader(to: &header)
      }
      if !header.isEmpty { try stream.write(header) }
      try results.forEachRow { (rows) throws(BatchError) in
        try session.cancellation.check()
        if writesRows { try stream.write(rows) }
      } problem: { (problem, severity) in
        session.reporter.met(problem, severity: severity)
      }
    }
  }

  private func join(
    _ results: ShardResults, _ outcome: inout ShardOutcome, to stream: any ResultStream
  ) throws(BatchError) {
    var refused = 0
    let choices: ArchiveChoices
    do {
      choices = try ArchiveChoices(planned) { _ in nil }
    } catch {
      throw BatchError(.unwritable, "the plan has a command that is not valid", path: folder.path)
    }
    let joiner = try ArchiveJoiner(choices.options, output: stream, session.context) {
      [tally] members in
      tally.add(members)
    } refused: { [session] problem in
      refused += 1
      session.reporter.met(problem, severity: .failure)
    }
    try results.forEach { (reader) throws(BatchError) in
      try joiner.append(reader) { (problem, severity) in
        session.reporter.met(problem, severity: severity)
      }
    }
    try joiner.finish()
    outcome.counts.done -= refused
    outcome.counts.failed += refused
  }

  private func summarize(_ results: ShardResults, _ outcome: ShardOutcome) {
    let counts = counts(of: outcome)
    var (files, found) = (outcome.counts.done, [(count: Int, word: String)]())
    switch planned.command.id {
    case .archive: files = tally.files
    case .check:
      let tally = CheckTally(outcome.findings)
      (files, found) = (tally.matches + tally.differs, tally.words)
      if !planned.flag(.status) {
        verdict(outcome).warnings.forEach { session.diagnostics.report($0, as: .warning) }
      }
    case .test: found = TestCounts(outcome.findings).words
    default: break
    }
    let outcomes = results.outcomes
    let count = outcomes.count { $0 != nil }
    session.reporter.summary(
      RunSummary(counts: counts, stopped: nil, elapsed: .zero),
      text: SummaryText(
        verb: "merged", files: files, bytes: outcome.counts.byteCount, kinds: tally.kinds,
        others: [(count, count == 1 ? "shard" : "shards")] + found + [
          (outcome.counts.changed, "changed meanwhile"), (counts.skipped, "skipped"),
          (outcome.counts.failed, "failed"),
        ], showsRate: false))
    guard !common.quiet else { return }
    let slowest = outcomes.enumerated().compactMap { index, outcome in
      outcome.map { (index, $0) }
    }.max { $0.1.milliseconds < $1.1.milliseconds }
    if let (index, slow) = slowest, plan.shards.count > 1 {
      let time = DurationText.text(seconds: Double(slow.milliseconds) / 1000)
      let share = Int((plan.imbalance * 1000).rounded())
      let name = TerminalText.string(Array(slow.node.utf8))
      session.diagnostics.print(
        "slowest: shard \(index) on \(name) in \(time); the largest range is \(share / 1000).\(String(share % 1000 + 1000).dropFirst()) of the mean"
      )
    }
    let failed = outcomes.enumerated().compactMap { index, outcome in
      (outcome?.counts.failed ?? 0) > 0 ? String(index) : nil
    }
    if !failed.isEmpty {
      session.diagnostics.print("shards with files that failed: " + failed.joined(separator: ", "))
    }
  }
}
