import BatchCore
import BatchEngine

struct ExtractCommand: Command {
  private let choices: ReadingChoices
  let session: Session
  private let tally: TransformTally
  private let made = MemberTally()

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try ReadingChoices(parsed, common: common, isRoot: StandardStreams.isRoot)
    tally = TransformTally(namesEach: common.verbose || common.json)
    var call = Self.makeCall(choices, common)
    session = try Session(common, environment: environment, for: &call, observing: tally.observing)
  }

  private static func makeCall(
    _ choices: ReadingChoices, _ common: CommonOptions, filter: PathFilter? = nil
  ) -> ExtractCall {
    var options = choices.extraction
    options.isDryRun = common.dryRun
    return ExtractCall(
      .archive(
        choices.readArchive, choices.names.selection(strip: choices.strip, filter: filter),
        globs: choices.names.texts), into: choices.directory, options, inputs: choices.descriptorsOfReader)
  }

  func run() throws(BatchError) -> Ending {
    if choices.writesToStdout { return try writeContents() }
    let filter = try session.filter()
    let selection = choices.names.selection(strip: choices.strip, filter: filter)
    let rows =
      common.dryRun ? PreviewRows(directory: choices.directory, selection: selection, session: session) : nil
    let outcome = try session.run(Self.makeCall(choices, common, filter: filter), .items([])) {
      [session, tally, made] (report) throws(BatchError) in
      try session.report(report, tally: tally, made: made, preview: rows)
    }
    try rows?.finish()
    let refusal = tally.refusal(of: choices.directory)
    if outcome.summary.stopped != nil { tally.passOn() }
    return session.ending(outcome, writesOutput: common.dryRun, done: common.dryRun ? nil : made.text) {
      (result) throws(BatchError) in
      let extraction = result.extraction
      if let failure = extraction.failure { session.reporter.fatal(failure) }
      if let refusal { session.reporter.fatal(refusal) }
      session.warn(of: choices.archive, extraction.archive.remarks)
      if extraction.strippedSlash {
        session.warn(
          BatchError(.invalid, "absolute names were made relative", path: choices.archive), as: .note)
      }
      report(unmatched: result.unmatched)
      let counts = outcome.summary.counts
      return SummaryText(
        verb: common.dryRun ? "would extract" : "extracted", files: made.files, bytes: made.bytes,
        kinds: made.kinds,
        others: [
          (counts.skipped, counts.skippedWord), (counts.failed, "failed"),
          (extraction.madeSafe, "without privileges"), (extraction.withoutOwner, "without their owner"),
        ], tallies: [(extraction.madeSafe, "made_safe")])
    }
  }

  private func report(unmatched globs: [UnmatchedGlob]) {
    for glob in globs { tally.met(glob.problem("no member of the archive matches"), severity: .failure) }
  }

  private func writeContents() throws(BatchError) -> Ending {
    var call = PrintCall(
      choices.readArchive, choices.names.selection(filter: try session.filter()), globs: choices.names.texts,
      choices.extraction.limits, to: session.output)
    call.inputs = choices.descriptorsOfReader
    let outcome = try session.run(call, .items([])) { _ in }
    if let reason = outcome.summary.stopped ?? outcome.failure { throw reason }
    guard let findings = outcome.result else { return .exit(.fatal) }
    session.warn(of: choices.archive, findings.remarks)
    report(unmatched: findings.unmatched)
    return .exit(ExitStatus(outcome.verdict))
  }
}

extension Session {
  /// Reports and counts the result of a member.
  ///
  /// - Parameter preview: prints the rows of a dry run; nil in other runs.
  func report(
    _ report: ExtractionReport, tally: TransformTally, made: MemberTally, preview: PreviewRows?
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
      case .removed: ": removed"
      }
    return TerminalText.string(path.bytes) + note
  }
}
