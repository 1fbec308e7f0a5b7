import BatchCore
import BatchEngine
import BatchOutputs

struct PlanCommand: Command {
  private let planned: PlannedCommand
  /// The options of the outputs of a run that compresses or decompresses; nil for other runs.
  private let outputOptions: OutputOptions?
  private let shards: Int
  private let folder: PathBytes
  private let fewestBytes: Int64?
  private let archive: ArchiveChoices?
  private let environment: Environment
  let session: Session

  init(_ parsed: ParsedCommand, environment: @escaping Environment) throws {
    guard let shards = parsed.count(.shards) else {
      throw UsageError("Missing expected option '--shards <n>'", in: parsed.command)
    }
    guard let folder = parsed.bytes(.planFolder) else {
      throw UsageError("Missing expected option '--out <dir>'", in: parsed.command)
    }
    self.shards = shards
    self.folder = WorkingFolder.absolute(folder)
    self.environment = environment
    fewestBytes = parsed.size(.fewestShardBytes)
    planned = try PlannedCommand(parsed.operands, in: parsed.command, environment: environment)
    let command = planned.parsed.command
    let common = try CommonOptions(
      ParsedCommand(
        command: command,
        given: planned.parsed.given + parsed.given.filter { PlannedCommand.free.contains($0.id) },
        operands: planned.parsed.operands))
    let transforms = [.compress, .decompress].contains(command.id)
    outputOptions = transforms ? try TransformChoices(planned.parsed).outputs : nil
    archive =
      command.id == .archive ? try ArchiveChoices(planned.parsed, environment: environment) : nil
    if let archive, !archive.options.format.isJoinable {
      throw UsageError(
        "An archive of the format '\(archive.options.format.name)' cannot be divided; those of the tar family can.",
        in: parsed.command)
    }
    session = try Session(
      common, environment: environment, stride: archive?.options.format.stride(count: common.stride))
  }

  func run() throws(BatchError) -> Ending {
    var walk = try session.walkOptions()
    walk.takesEverything = archive != nil
    walk.skipsTemporaries = archive != nil
    let id = planned.parsed.command.id
    if [.compress, .decompress, .test].contains(id) { walk.skipsTemporaries = true }
    let output = archive?.output ?? HashOptions(planned.parsed).output
    let outputs = [output, planned.parsed.bytes(.outputDirectory)].compactMap { $0 }
    walk.excluded.formUnion(outputs.compactMap(StandardStreams.identity))
    let context = session.context
    let maker = try PlanMaker(in: folder, shards: shards, stride: context.options.stride, context)
    if let status = try? folder.status(followingLinks: true) {
      walk.excluded.insert(status.identity)
    }
    var fixed: [ParsedCommand.GivenOption] = []
    if let output {
      fixed.append(.init(id: .output, value: .bytes(WorkingFolder.absolute(output))))
    }
    if let latest = archive?.options.latestTime { fixed.append(.init(id: .mtime, value: .time(latest))) }
    for (id, moment) in [(OptionID.olderThan, common.walk.age.before), (.newerThan, common.walk.age.after)] {
      if let moment { fixed.append(.init(id: id, value: .time(moment.seconds))) }
    }
    let lists = common.fileLists.map {
      CommonOptions.FileList(path: WorkingFolder.absolute($0.path), isNULEnded: $0.isNULEnded)
    }
    if let directory = archive?.directory { try WorkingFolder.enter(directory) }
    let operands = Operands(planned.parsed.operands, lists: lists, run: context)
    let tree = context.tree(operands.counted, options: walk)
    let tally: PlanTally
    if let archive {
      tally = try maker.walk(
        try ArchiveSource(tree, options: archive.options), context.cancellation)
    } else if id == .check {
      tally = try check(operands, walk, into: maker)
    } else if let outputOptions {
      let mayShare = id == .decompress || outputOptions.copiesOthers
      tally = try maker.walk(
        tree, joinsNames: true, naming: mayShare ? outputOptions.naming : nil, context.cancellation)
    } else if id == .test {
      tally = try maker.walk(tree, joinsNames: false, context.cancellation)
    } else {
      _ = try HashOptions(planned.parsed).writer()
      tally = try maker.walk(tree, joinsNames: false, context.cancellation)
    }
    guard tally.missing == 0 || tally.missing < operands.count || tally.items > tally.problems
    else {
      maker.discard()
      throw BatchError(
        .missing, "none of the paths exists; no plan was made",
        path: planned.parsed.operands.first)
    }
    let plan = try maker.finish(
      version: Version.number, command: planned.parsed.command.name,
      arguments: planned.arguments(adding: fixed, removing: archive == nil ? [] : [.directory]),
      operandCount: operands.count,
      filtered: tally.filtered, fewestBytes: fewestBytes, isSynced: common.fsync)
    report(plan, tally)
    return .exit(.success)
  }

  private func check(
    _ manifests: Operands, _ walk: WalkOptions, into maker: PlanMaker
  ) throws(BatchError) -> PlanTally {
    let (given, context) = (planned.parsed.operands, SourceContext(session.context))
    if given.count == 1, let error = SetHint.file(given[0], in: session.context) { throw error }
    let options = CheckOptions(planned.parsed)
    let lines = CheckLines(manifests.counted, options: options.reading, context: context)
    let source = CheckSource(
      in: options.directory, ignoresMalformed: options.ignoresMalformed, selection: walk,
      context: context
    ) { nil }
    return try maker.walk(lines, source, context.cancellation)
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
