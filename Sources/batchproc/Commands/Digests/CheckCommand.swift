import BatchCore
import BatchEngine

/// `batchproc check`.
struct CheckCommand: Command {
  private let options: CheckOptions
  private let common: CommonOptions
  private let manifests: [PathBytes]
  let session: Session

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws(BatchError) {
    options = CheckOptions(parsed)
    self.common = common
    manifests = parsed.operands
    session = try Session(common, environment: environment, inputs: 1)
  }

  func run() throws(BatchError) -> Ending {
    if manifests.count == 1, let error = SetHint.file(manifests[0], in: session.context) { throw error }
    let operands = Operands(manifests, lists: common.fileLists, run: session.context)
    let source = CheckSource(
      manifests: operands.counted, in: options.directory,
      options: ManifestReader.Options(
        zero: options.endsRowsInNUL, algorithm: options.algorithm.flatMap(DigestAlgorithm.init(rawValue:))),
      ignoresMalformed: options.ignoresMalformed,
      selection: try session.walkOptions(),
      context: SourceContext(session.context))
    if common.dryRun {
      let listing = DryRun(session: session, verb: "would check")
      return listing.run(over: CheckedFilesSource(source))
    }
    let render = CheckRows(
      form: session.reporter is JSONReporter ? .members : options.printsNoRows ? .none : .lines,
      showsMatches: !common.quiet, escapesControls: options.escapesControls)
    let results = ResultWriter(session: session, stream: session.output, isEvents: true)
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

  private func finish(_ summary: RunSummary, _ tally: CheckTally, manifestCount: Int) -> Ending {
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let verdict = CheckVerdict(tally, manifestCount: manifestCount, options: options)
    if !options.printsNoRows { verdict.warnings.forEach { session.diagnostics.report($0, as: .warning) } }
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "checked", files: tally.matches + tally.differs, bytes: summary.counts.byteCount,
        others: [
          (tally.differs, "different"), (tally.missing, "missing"), (tally.unreadable, "unreadable"),
          (tally.ignored, "ignored"), ByteCount.tally(tally.malformed, "malformed row"),
          ByteCount.tally(tally.text, "other line"),
        ],
        tallies: [
          (tally.matches, "matches"), (tally.differs, "differs"), (tally.missing, "missing"),
          (tally.unreadable, "unreadable"), (tally.ignored, "ignored"), (tally.malformed, "malformed"),
          (tally.text, "text"),
        ]))
    return .exit(verdict.status)
  }
}
