import BatchCore
import BatchEngine

struct CheckCommand: Command {
  private let options: CheckOptions
  private let manifests: [PathBytes]
  /// Whether files with correct digests get rows.
  private let showsMatches: Bool
  let session: Session
  /// The shard of a plan that is processed; nil without one.
  private let task: ShardTask?

  /// - Parameter showsMatches: whether files with correct digests get rows; nil if the options decide.
  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: Environment,
    task: ShardTask? = nil, showsMatches: Bool? = nil
  ) throws(BatchError) {
    options = CheckOptions(parsed)
    self.task = task
    self.showsMatches = showsMatches ?? !common.quiet
    manifests = parsed.operands
    session = try Session(common, environment: environment, inputs: task == nil ? 1 : 4) {
      task?.recording($0) ?? $0
    }
  }

  func run() throws(BatchError) -> Ending {
    if let task {
      return try task.run(session, checksFolders: false) { (work) throws(BatchError) in
        try check(work, task)
      }
    }
    if manifests.count == 1, let error = SetHint.file(manifests[0], in: session.context) { throw error }
    let operands = Operands(manifests, lists: common.fileLists, run: session.context)
    let source = CheckSource(
      manifests: operands.counted, in: options.directory,
      options: options.reading,
      ignoresMalformed: options.ignoresMalformed,
      selection: try session.walkOptions(),
      context: SourceContext(session.context))
    if common.dryRun {
      let listing = DryRun(session: session, verb: "would check")
      return listing.run(over: CheckedFilesSource(source))
    }
    let render = CheckRows(
      form: session.events != nil ? .members : options.printsNoRows ? .none : .lines,
      showsMatches: showsMatches, escapesControls: options.escapesControls)
    let results = ResultWriter(session)
    let job = CheckJob(ignoresMissing: options.ignoresMissing) { (entry, outcome, bytes) in
      render.append(entry, outcome, to: &bytes)
    } output: { (chunk) throws(BatchError) in
      if options.warnsOfBadLines {
        chunk.text.forEach { session.diagnostics.report($0, as: .warning) }
      }
      for path in chunk.different { session.found(path, "another digest than the recorded one") }
      try results.write(chunk.rows)
    }
    let outcome = session.run(job, over: source)
    return finish(outcome.summary, outcome.result ?? CheckTally(), manifestCount: operands.count)
  }

  private func check(
    _ work: sending ShardTask.Work, _ task: ShardTask
  ) throws(BatchError) -> ShardTask.Processed {
    let (session, counters) = (session, session.context.counters)
    let (result, lock, player) = (work.result, work.lock, work.player)
    // The plan has already selected the files.
    let source = CheckSource(
      in: options.directory, ignoresMalformed: options.ignoresMalformed,
      context: SourceContext(session.context)
    ) { () throws(BatchError) in try player.nextRow() }
    let render = CheckRows(
      form: options.printsNoRows ? .none : .lines, showsMatches: showsMatches,
      escapesControls: options.escapesControls)
    let job = CheckJob(ignoresMissing: options.ignoresMissing) { (entry, outcome, bytes) in
      render.append(entry, outcome, to: &bytes)
    } output: { [options] (chunk) throws(BatchError) in
      if options.warnsOfBadLines {
        for error in chunk.text { try result.write(Problem(.malformed, error), severity: .warning) }
      }
      try result.write(rows: chunk.rows.bytes)
      session.advanced(chunk.count)
      lock.note(counters.snapshot, error: nil)
    }
    let outcome = session.run(job, over: source, total: task.count)
    let tally = outcome.result ?? CheckTally()
    return ShardTask.Processed(
      summary: outcome.summary, ending: finish(outcome.summary, tally, manifestCount: nil),
      findings: tally.findings)
  }

  /// - Parameter manifestCount: nil if the results are those of a part.
  private func finish(_ summary: RunSummary, _ tally: CheckTally, manifestCount: Int?) -> Ending {
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let verdict = CheckVerdict(tally, manifestCount: manifestCount, options: options)
    if !options.printsNoRows { verdict.warnings.forEach { session.diagnostics.report($0, as: .warning) } }
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "checked", files: tally.matches + tally.differs, bytes: summary.counts.byteCount,
        others: tally.words,
        tallies: [
          (tally.matches, "matches"), (tally.differs, "differs"), (tally.missing, "missing"),
          (tally.unreadable, "unreadable"), (tally.ignored, "ignored"), (tally.malformed, "malformed"),
          (tally.text, "text"),
        ]))
    return .exit(verdict.status)
  }
}

extension CheckTally {
  /// For the summary line.
  var words: [(count: Int, word: String)] {
    [
      (differs, "different"), (missing, "missing"), (unreadable, "unreadable"), (ignored, "ignored"),
      ByteCount.tally(malformed, "malformed row"), ByteCount.tally(text, "other line"),
    ]
  }
}
