import BatchEngine
import BatchOutputs

extension RunCounts: CallResult {
  package var findings: [String: Int] { ["outputs": ran + upToDate] }
}

/// Runs a command of the user for each file.
package struct RunCall: Call {
  package var options: CommandOptions

  package init(_ options: CommandOptions) { self.options = options }

  package var outputs: OutputOptions? {
    get { options.kind == .passedOn ? nil : options.outputs }
    set { options.outputs = newValue ?? options.outputs }
  }

  /// Children execute without a lane: two lanes prepare them and take what they wrote. Each child is an operation of its own.
  package var limits: CallLimits {
    CallLimits(stride: .fixed(1), inputs: ChildRunner.descriptors, mostLanes: 2, isFixed: true)
  }

  package mutating func share(_ run: inout BatchOptions) throws(BatchError) {
    let each = ChildRunner.descriptorsOfChild + (options.kind == .passedOn ? 1 : 4)
    // The outputs that wait for a common sync, and the lanes.
    let others =
      outputs.map { 2 * $0.descriptorsOfOutput + 2 * $0.descriptorsOfLane } ?? 2
      * DescriptorBudget.tokensToRead
    let fewest = others + each
    guard run.descriptors >= fewest else {
      throw BatchError(
        .exhausted,
        "\(run.descriptors) file descriptors for files are too few: at least \(fewest) are needed",
        remedy: .raiseDescriptors)
    }
    let wanted = max(run.concurrency, run.mostConcurrency ?? 0) + 8
    options.mostChildren = min(
      wanted, (run.descriptors - max(others, outputs == nil ? 0 : run.descriptors / 4)) / each)
    run.setApart(options.mostChildren * each)
  }

  package var division: Division? {
    let replaces = options.kind == .files && options.outputs.naming.mayJoin
    var division = Division(
      unit: .files(naming: replaces ? options.outputs.naming : nil),
      join: options.kind == .passedOn ? .rows(header: []) : .receipts)
    division.outputs = [options.outputs.naming.directory].compactMap { $0 }
    division.skipsTemporaries = true
    division.checksFolders = false
    division.takesOnePath = options.kind != .passedOn
    return division
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    options.kind == .passedOn ? CallVerdict(tally.counts) : .ofOutputs(tally)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping RunCollector.Report
  ) throws(BatchError) -> Prepared<RunCounts> {
    let template = options.template
    let program = try template.program.map { (name) throws(BatchError) in
      try ChildProgram.find(name, path: options.searchPath)
    }
    var excluded: FileIdentity?
    if options.kind == .files {
      // A dry run creates no folder, and excludes an existing one.
      excluded =
        options.outputs.isDryRun
        ? options.outputs.naming.directory.flatMap(StandardStreams.identity)
        : try options.outputs.naming.makeDirectory(by: run.calls)
    }
    let (tree, total) = try input.tree(in: run) { walk in
      walk.skipsTemporaries = true
      if let excluded { walk.excluded.insert(excluded) }
    }
    var (before, planned) = (0, (() -> Bool)?.none)
    if case .shard(let work) = input {
      before = work.before
      planned = { work.player.mayHaveRival }
    }
    let source = RunSource(
      tree, operandCount: input.operandCount, before: before, options, planned: planned)
    let job = RunJob(options, program: program, asked: source.asked, report: report)
    return Prepared(job, over: source, total: total) { $0 }
  }
}
