import BatchCore
import BatchEngine
import BatchOutputs

struct MergeCommand: Command {
  private let folder: PlanFolder
  let plan: ShardPlan
  let planned: PlannedCommand
  /// The planned job, to judge the results and to join them.
  private let call: any Call
  let division: Division
  /// Nil for standard output.
  private let output: PathBytes?
  /// Whether there are rows to write; for commands that print nothing, only if requested.
  let writesRows: Bool
  private let replacesOutput: Bool
  private let allowsMissing: Bool
  private let removesParts: Bool
  let tally = MemberTally()
  let session: Session

  init(_ parsed: ParsedCommand, kinds: CommandKinds, environment: Environment) throws {
    folder = try PlanFolder(try parsed.planFolder, calls: LinuxCalls())
    plan = try ShardPlan.read(in: folder)
    try plan.require(version: Version.number, in: folder)
    planned = try PlannedCommand(plan, kinds, in: parsed.command)
    // Root's plan does not decide which file of another user is replaced.
    let isOwn = try folder.isOwn()
    guard isOwn || parsed.bytes(.output) != nil || planned.parsed.bytes(.output) == nil else {
      throw UsageError(
        "The plan belongs to another user: name the output with '--output <file>', and add --force to replace it.",
        in: parsed.command)
    }
    let target = parsed.bytes(.output) ?? planned.parsed.bytes(.output)
    call = try planned.command.makeCall(
      planned.parsed, common: CommonOptions(planned.parsed), environment: { _ in nil })
    guard let division = call.division else {
      throw UsageError("The command of the plan cannot be divided.", in: parsed.command)
    }
    self.division = division
    switch division.join {
    case .receipts, .mirror: writesRows = target != nil
    case .rows, .archive: writesRows = true
    }
    output = target == "-" ? nil : target
    replacesOutput = parsed.flag(.force) || isOwn && planned.parsed.flag(.force)
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
          .unwritable,
          "nothing was merged: \(ByteCount.counted(results.faults.count, "result")) missing or damaged",
          path: folder.path,
          remedy: "run these shards again, or give --allow-missing"))
      return .exit(.outputIncomplete)
    }
    var outcome = results.outcome
    try write(results, &outcome)
    let verdict = call.verdict(tally(of: outcome)).adding(.someFailed, if: !results.faults.isEmpty)
    if removesParts, !verdict.contains(.nothing), results.faults.isEmpty, output != nil || !writesRows {
      for error in results.removeParts(by: session.context.commits) {
        session.diagnostics.report(error, as: .warning)
      }
    }
    summarize(results, outcome)
    return .exit(ExitStatus(verdict))
  }

  /// Writes the joined rows, or the archive; not if nothing came of the job, as on one machine.
  private func write(_ results: ShardResults, _ outcome: inout ShardOutcome) throws(BatchError) {
    guard !call.verdict(tally(of: outcome)).contains(.nothing) else {
      return try results.forEachRow { _ in
      } problem: { (problem, severity) in
        session.reporter.met(problem, severity: severity)
      }
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
    guard case .archive = division.join, replacesOutput, let output, !OutputFile.isDevice(output) else {
      return
    }
    // By recovery data of the archive that was replaced, a repair would bring that one back.
    try OwnParity(of: output, in: session.context).remove(
      isSynced: common.fsync, by: session.context.commits)
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

  private func write(
    _ results: ShardResults, _ outcome: inout ShardOutcome, to stream: any ResultStream
  ) throws(BatchError) {
    switch division.join {
    case .archive(let options): return try join(results, as: options, &outcome, to: stream)
    case .mirror(let call): return try join(results, of: call, &outcome, to: stream)
    case .rows(let header): if !header.isEmpty { try stream.write(header) }
    case .receipts: break
    }
    try results.forEachRow { (rows) throws(BatchError) in
      try session.cancellation.check()
      if writesRows { try stream.write(rows) }
    } problem: { (problem, severity) in
      session.reporter.met(problem, severity: severity)
    }
  }

  private func join(
    _ results: ShardResults, as options: ArchiveOptions, _ outcome: inout ShardOutcome,
    to stream: any ResultStream
  ) throws(BatchError) {
    var refused = 0
    let joiner = try ArchiveJoiner(options, output: stream, session.context) {
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
}
