import BatchCore
import BatchEngine

struct PlanCommand: Command {
  private let planned: PlannedCommand
  private let division: Division
  private let shards: Int
  private let folder: PathBytes
  private let fewestBytes: Int64?
  /// Options that are stored with these values.
  private let fixed: [ParsedCommand.GivenOption]
  let session: Session

  init(_ parsed: ParsedCommand, kinds: CommandKinds, environment: @escaping Environment) throws {
    guard let shards = parsed.count(.shards) else {
      throw UsageError("Missing expected option '--shards <n>'", in: parsed.command)
    }
    guard let folder = parsed.bytes(.planFolder) else {
      throw UsageError("Missing expected option '--out <dir>'", in: parsed.command)
    }
    self.shards = shards
    self.folder = WorkingFolder.absolute(folder)
    fewestBytes = parsed.size(.fewestShardBytes)
    let planned = try PlannedCommand(
      parsed.operands, kinds, in: parsed.command, environment: environment)
    self.planned = planned
    let common = try CommonOptions(
      ParsedCommand(
        command: planned.parsed.command,
        given: planned.parsed.given + parsed.given.filter { planned.mayChoose($0.id) },
        operands: planned.parsed.operands, words: planned.parsed.words))
    let call = try planned.command.makeCall(planned.parsed, common: common, environment: environment)
    guard let division = call.division else {
      throw UsageError(
        "This archive cannot be divided: only unencrypted ones of the tar family can; encrypt the merged one with age.",
        in: parsed.command)
    }
    fixed = try planned.command.fixedOptions(planned.parsed, environment: environment)
    if division.takesOnePath { try planned.requireOnePath(in: parsed.command) }
    self.division = division
    let stride = try call.limits.stride
    session = try Session(
      common, environment: environment, setApart: { if let stride { $0.stride = stride } })
  }

  func run() throws(BatchError) -> Ending {
    var walk = division.walk(try session.walkOptions())
    let context = session.context
    let parsed = planned.parsed
    if case .lines = division.unit, parsed.operands.count == 1,
      let error = SetHint.file(parsed.operands[0], in: context)
    {
      throw error
    }
    let maker = try PlanMaker(in: folder, shards: shards, stride: context.options.stride, context)
    if let status = try? folder.status(followingLinks: true) {
      walk.excluded.insert(status.identity)
    }
    let operands = session.operands(parsed.operands, areAbsolute: true)
    let ages = [(OptionID.olderThan, common.walk.age.before), (.newerThan, common.walk.age.after)]
    let moments = ages.compactMap { id, moment in
      moment.map { ParsedCommand.GivenOption(id: id, value: .time($0.seconds)) }
    }
    if let folder = division.folder { try WorkingFolder.enter(folder) }
    let tally = try division.walk(operands, walk, into: maker, in: context)
    guard tally.missing == 0 || tally.missing < operands.count || tally.items > tally.problems
    else {
      maker.discard()
      throw BatchError(
        .missing, "none of the paths exists; no plan was made",
        path: parsed.operands.first)
    }
    let plan = try maker.finish(
      version: Version.number, command: parsed.command.name,
      arguments: planned.arguments(
        adding: fixed + moments, removing: division.folder == nil ? [] : [.directory]),
      operandCount: operands.count, filtered: tally.filtered, fewestBytes: fewestBytes,
      isSynced: common.fsync)
    report(plan, tally)
    return .exit(.success)
  }

  private func report(_ plan: ShardPlan, _ tally: PlanTally) {
    session.reporter.summary(
      RunSummary(seen: tally.items + tally.filtered, done: 0, bytes: tally.bytes),
      text: SummaryText(
        verb: "planned", files: tally.items, noun: "path", bytes: tally.bytes,
        others: [
          (plan.shards.count, plan.shards.count == 1 ? "shard" : "shards"),
          (tally.filtered, "left out"),
          (tally.problems, "to be reported by the shards"),
        ], showsRate: false))
  }
}
