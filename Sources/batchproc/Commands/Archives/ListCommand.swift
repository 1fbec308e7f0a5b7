import BatchCore
import BatchEngine

/// `batchproc list`.
struct ListCommand: Command {
  private let choices: ReadingChoices
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try ReadingChoices(parsed, common: common, isRoot: StandardStreams.isRoot)
    session = try Session(common, environment: environment, inputs: choices.descriptorsOfReader)
  }

  /// - Throws: an error before the run begins.
  func run() throws(BatchError) -> Ending {
    let archive = try ArchiveFile(
      choices.archive, foreignReader: session.foreignReader(choices.readsAllFormats),
      keys: session.keys(choices.keys),
      in: SourceContext(session.context))
    let end = ArchiveEnd()
    let selection = try MemberSelection(globs: choices.globs, filter: try session.filter())
    let reader = try MemberListReader(
      archive, selection: selection, globs: choices.globs, details: choices.showsLongRows,
      digests: choices.showsDigests,
      usesIndex: choices.usesIndex,
      memory: session.context.options.memory, marks: choices.showsLongRows || common.json, end: end,
      by: session.context.reading)
    let results = ResultWriter(session: session, stream: session.output, isEvents: true)
    let rows = MemberRows(
      form: results.writesEvents
        ? .members : choices.showsLongRows ? .long : choices.showsDigests ? .digests : .names,
      isNULEnded: choices.endsRowsInNUL)
    let job = MemberListJob { (member, bytes) in
      rows.append(member, to: &bytes)
    } output: { (rows) throws(BatchError) in
      try results.write(rows, as: "member")
    }
    let summary = session.run(job, reading: reader).summary
    if let ending = session.endingBeforeSummary(summary) { return ending }
    session.warn(of: archive.path, end.remarks)
    session.report(unmatched: end.unmatched, "no member of the archive matches")
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "listed", files: counts.done, noun: "member", bytes: nil,
        others: [(counts.failed, "failed")]))
    if end.isCutShort { return .exit(counts.done == 0 ? .fatal : .outputIncomplete) }
    if counts.isNothing, !end.unmatched.isEmpty { return .exit(.fatal) }
    return .exit(counts.failed > 0 || !end.unmatched.isEmpty ? .someFailed : .success)
  }
}
