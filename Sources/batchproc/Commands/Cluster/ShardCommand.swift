import BatchCore
import BatchEngine

/// Commands with `--plan` and `--shard`.
struct ShardCommand: Command {
  private let task: ShardTask
  private let parsed: ParsedCommand
  private let archive: ArchiveChoices?
  let session: Session

  static func run(_ own: ParsedCommand, _ environment: @escaping Environment) throws -> Ending {
    guard let given = own.bytes(.plan) else {
      throw UsageError("--shard needs '--plan <dir>'.", in: own.command)
    }
    guard own.given.contains(where: { $0.id == .shard }) else {
      throw UsageError("--plan needs '--shard <i>'.", in: own.command)
    }
    let index = try own.count(.shard) ?? Self.index(environment, own.command)
    let folder = try PlanFolder(WorkingFolder.absolute(given), calls: LinuxCalls())
    let plan = try ShardPlan(in: folder)
    try plan.require(version: Version.number, in: folder)
    let planned = try PlannedCommand(plan, in: own.command)
    let parsed = try planned.shard(own)
    guard index < plan.asked else {
      throw UsageError(
        "The plan has \(plan.asked) shards, from 0: there is no shard \(index).", in: own.command)
    }
    guard index < plan.shards.count else {
      let diagnostics = Diagnostics(descriptor: 2, usesColor: false)
      if !own.flag(.quiet) {
        diagnostics.print(
          "batchproc: shard \(index): nothing to do, the plan has \(plan.shards.count) shards")
      }
      return .exit(.success)
    }
    let task = ShardTask(
      plan, plan.shards[index], in: folder, isForced: own.flag(.force), environment: environment)
    let common = try CommonOptions(parsed)
    if ![.hash, .check].contains(parsed.command.id) { ProcessHeap.share() }
    switch parsed.command.id {
    case .compress, .decompress:
      return try TransformCommand(parsed, common: common, environment: environment, task: task).execute()
    case .test:
      return try TestCommand(parsed, common: common, environment: environment, task: task).execute()
    case .check:
      // The plan determines the rows, not the reporting options of a task.
      return try CheckCommand(
        parsed, common: common, environment: environment, task: task,
        showsMatches: !planned.parsed.flag(.quiet)
      ).execute()
    default: return try ShardCommand(task, parsed, common, environment).execute()
    }
  }

  private static func index(
    _ environment: Environment, _ command: CommandSpec
  ) throws(UsageError) -> Int {
    for (name, first) in [
      ("SLURM_ARRAY_TASK_ID", 0), ("JOB_COMPLETION_INDEX", 0), ("PARALLEL_SEQ", 1),
      ("OMPI_COMM_WORLD_RANK", 0),
    ] {
      guard let text = environment(name), !text.isEmpty else { continue }
      guard let number = DecimalDigits.value(of: text.bytes).flatMap(Int.init(exactly:)), number >= first
      else {
        throw UsageError(
          "\(name) is not a whole number from \(first) up: \(quote(text)).", in: command)
      }
      return number - first
    }
    throw UsageError(
      "--shard auto finds no number: none of SLURM_ARRAY_TASK_ID, JOB_COMPLETION_INDEX, PARALLEL_SEQ and OMPI_COMM_WORLD_RANK is set.",
      in: command)
  }

  private init(
    _ task: ShardTask, _ parsed: ParsedCommand, _ common: CommonOptions,
    _ environment: @escaping Environment
  ) throws {
    self.task = task
    self.parsed = parsed
    archive = parsed.command.id == .archive ? try ArchiveChoices(parsed) { _ in nil } : nil
    session = try Session(
      common, environment: environment, stride: archive?.options.format.stride(count: common.stride),
      laneMemory: try archive?.options.memoryOfLane() ?? 0, inputs: 4
    ) { task.recording($0) }
  }

  func run() throws(BatchError) -> Ending {
    try task.run(session, checksFolders: true) { (work) throws(BatchError) in
      let summary = if let archive { try self.archive(archive, work) } else { try hash(work) }
      if let ending = session.endingOfStopped(summary) {
        return ShardTask.Processed(summary: summary, ending: ending)
      }
      let counts = summary.counts
      session.reporter.summary(
        summary,
        text: SummaryText(
          verb: "shard \(task.shard.index): processed", files: counts.done, bytes: counts.byteCount,
          others: [(counts.changed, "changed meanwhile")] + counts.unprocessed))
      return ShardTask.Processed(
        summary: summary, ending: .exit(counts.failed > 0 ? .someFailed : .success))
    }
  }

  private func hash(_ work: sending ShardTask.Work) throws(BatchError) -> RunSummary {
    let options = HashOptions(parsed)
    let rows = try options.writer()
    let (session, counters) = (session, session.context.counters)
    let (result, lock, player) = (work.result, work.lock, work.player)
    let job = HashJob(algorithms: rows.algorithms) { (row, bytes) throws(BatchError) in
      try rows.append(row, to: &bytes)
    } output: { (rows) throws(BatchError) in
      try result.write(rows: rows.bytes)
      session.advanced(rows.count)
      lock.note(counters.snapshot, error: nil)
    }
    let source = session.context.tree { player.next() }
    return session.run(job, over: source, total: task.count).summary
  }

  private func archive(
    _ choices: ArchiveChoices, _ work: sending ShardTask.Work
  ) throws(BatchError) -> RunSummary {
    let (session, counters) = (session, session.context.counters)
    let (result, lock, player) = (work.result, work.lock, work.player)
    let options = choices.options
    let job = ArchiveJob(
      options, output: session.output, parts: ShardArchiveParts(result, work.devices)
    ) {
      (members) throws(BatchError) in
      session.advanced(members.count)
      lock.note(counters.snapshot, error: nil)
    }
    let source = try ArchiveSource(session.context.tree { player.next() }, options: options) {
      player.firstPath
    }
    return session.run(job, over: source, total: task.count).summary
  }
}
