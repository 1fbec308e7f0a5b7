import BatchCore
import BatchEngine

struct ExtractCommand: Command {
  private let choices: ReadingChoices
  let session: Session
  private let tally: TransformTally
  private let made = MemberTally()

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try ReadingChoices(parsed, common: common, isRoot: StandardStreams.isRoot)
    let inputs = ExtractJob.descriptorsOfCollector + choices.descriptorsOfReader
    tally = TransformTally(namesEach: common.verbose || common.json)
    session = try Session(common, environment: environment, inputs: inputs, observing: tally.observing)
  }

  func run() throws(BatchError) -> Ending {
    let archive = try ArchiveFile(
      choices.archive, foreignReader: session.foreignReader(choices.readsAllFormats),
      keys: session.keys(choices.keys),
      in: SourceContext(session.context))
    if choices.writesToStdout { return try writeContents(of: archive) }
    var options = choices.extraction
    options.memory = session.context.options.memory
    let selection = choices.names.selection(strip: choices.strip, filter: try session.filter())
    options.isDryRun = common.dryRun
    if common.dryRun {
      try FolderMaker(calls: session.context.calls).checkLast(choices.directory)
    } else {
      try FolderMaker(calls: session.context.calls).makeLast(choices.directory)
    }
    let rows =
      common.dryRun ? PreviewRows(directory: choices.directory, selection: selection, session: session) : nil
    let job = try ExtractJob(
      into: choices.directory, selection: selection, options: options, in: session.context
    ) {
      (report) throws(BatchError) in
      try session.report(report, tally, made, rows)
    }
    let reader = try ExtractReader(
      archive, selection: selection, globs: choices.names.texts, options: options, by: session.context.reading
    )
    let total = reader.total
    return finish(session.run(job, reading: reader, total: total), of: archive.path)
  }

  private func report(unmatched globs: [UnmatchedGlob]) {
    for glob in globs { tally.met(glob.problem("no member of the archive matches"), severity: .failure) }
  }

  private func finish(_ outcome: RunOutcome<Extraction>, of archive: PathBytes) -> Ending {
    let summary = outcome.summary
    let refusal = tally.refusal(of: choices.directory)
    if summary.stopped != nil { tally.passOn() }
    if let ending = common.dryRun
      ? session.endingBeforeSummary(summary) : session.endingOfStopped(summary, done: made.text)
    {
      return ending
    }
    guard let extraction = outcome.result else { return .exit(.fatal) }
    if let failure = extraction.failure { session.reporter.fatal(failure) }
    if let refusal { session.reporter.fatal(refusal) }
    session.warn(of: archive, extraction.archive.remarks)
    if extraction.strippedSlash {
      session.warn(BatchError(.invalid, "absolute names were made relative", path: archive), as: .note)
    }
    report(unmatched: extraction.archive.unmatched)
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: common.dryRun ? "would extract" : "extracted", files: made.files, bytes: made.bytes,
        kinds: made.kinds,
        others: [
          (counts.skipped, counts.skippedWord), (counts.failed, "failed"),
          (extraction.madeSafe, "without privileges"),
        ], tallies: [(extraction.madeSafe, "made_safe")]))
    let hasBadOutput = refusal != nil || extraction.failure != nil || tally.current.spoilt > 0
    if hasBadOutput || extraction.archive.isDamaged { return .exit(.outputIncomplete) }
    if counts.done == 0, counts.failed > 0 { return .exit(.fatal) }
    let status = ExitStatus(
      counts, hasUnmatched: !extraction.archive.unmatched.isEmpty,
      isIncomplete: extraction.madeSafe > 0 || extraction.misdescribed > 0)
    return .exit(extraction.archive.isCutShort && status != .fatal ? .outputIncomplete : status)
  }

  private func writeContents(of archive: ArchiveFile) throws(BatchError) -> Ending {
    let reader = PrintReader(
      archive, selection: choices.names.selection(filter: try session.filter()), globs: choices.names.texts,
      limits: choices.extraction.limits, memory: session.context.options.memory)
    let end = reader.end
    let summary = session.run(PrintJob(to: session.output), reading: reader).summary
    if let reason = summary.stopped { throw reason }
    try session.output.finish()
    let findings = end.findings
    session.warn(of: archive.path, findings.remarks)
    report(unmatched: findings.unmatched)
    if findings.isCutShort {
      return .exit(summary.counts.done == 0 && !findings.isDamaged ? .fatal : .outputIncomplete)
    }
    return .exit(ExitStatus(summary.counts, hasUnmatched: !findings.unmatched.isEmpty))
  }
}

extension Session {
  /// Reports and counts the result of a member.
  ///
  /// - Parameter preview: prints the rows of a dry run; nil in other runs.
  func report(
    _ report: ExtractionReport, _ tally: TransformTally, _ made: MemberTally, _ preview: PreviewRows?
  ) throws(BatchError) {
    tally.madeOutput()
    if report.outcome == .extracted { made.add(report.kind, report.size) }
    if let preview { return try preview.write(report) }
    advanced(1)
    if let events {
      try events.write("member") { line in
        line.add(path: report.path)
        line.add("outcome", report.outcome.rawValue)
      }
    } else if common.verbose {
      diagnostics.print(report.line)
    }
  }
}

extension ExtractionReport {
  /// A line for the user: the name, and the outcome if the member was not extracted.
  fileprivate var line: String {
    let note =
      switch outcome {
      case .extracted: ""
      case .kept: ": kept, as new as the member"
      case .upToDate: ": up to date"
      case .superseded: ": superseded, a later member has this name"
      }
    return TerminalText.string(path.bytes) + note
  }
}
