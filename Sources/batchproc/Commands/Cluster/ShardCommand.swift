import BatchCore
import BatchEngine

/// Commands with `--plan` and `--shard`.
enum ShardCommand {
  static func run(
    _ own: ParsedCommand, kinds: CommandKinds, _ environment: @escaping Environment
  ) throws -> Ending {
    guard let given = own.bytes(.plan) else {
      throw UsageError("--shard needs '--plan <dir>'.", in: own.command)
    }
    guard own.given.contains(where: { $0.id == .shard }) else {
      throw UsageError("--plan needs '--shard <i>'.", in: own.command)
    }
    let index = try own.count(.shard) ?? Self.index(environment, own.command)
    let folder = try PlanFolder(WorkingFolder.absolute(given), calls: LinuxCalls())
    let plan = try ShardPlan.read(in: folder)
    try plan.require(version: Version.number, in: folder)
    let planned = try PlannedCommand(plan, kinds, in: own.command)
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
      plan, plan.shards[index], of: planned.parsed, in: folder, isForced: own.flag(.force),
      environment: environment)
    if planned.kind.sharesHeap { ProcessHeap.share() }
    return try planned.command.init(
      parsed, common: CommonOptions(parsed), environment: environment, shard: task
    ).execute()
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
}
