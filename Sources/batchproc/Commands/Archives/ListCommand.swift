import BatchCore
import BatchEngine

struct ListCommand: Command {
  private let choices: ReadingChoices
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try ReadingChoices(parsed, common: common, isRoot: StandardStreams.isRoot)
    session = try Session(common, environment: environment, inputs: choices.descriptorsOfReader)
  }

  func run() throws(BatchError) -> Ending {
    let archive = try ArchiveFile(
      choices.archive, foreignReader: session.foreignReader(choices.readsAllFormats),
      keys: session.keys(choices.keys),
      in: SourceContext(session.context))
    let selection = choices.names.selection(filter: try session.filter())
    let reader = try MemberListReader(
      archive, selection: selection, globs: choices.names.texts, details: choices.showsLongRows,
      digests: choices.showsDigests,
      usesIndex: choices.usesIndex,
      memory: session.context.options.memory, marks: choices.showsLongRows || common.json,
      by: session.context.reading)
    let end = reader.end
    let summary = session.list(
      reader, as: choices.showsLongRows ? .long : choices.showsDigests ? .digests : .names,
      isNULEnded: choices.endsRowsInNUL)
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let findings = end.findings
    session.warn(of: archive.path, findings.remarks)
    session.report(unmatched: findings.unmatched, "no member of the archive matches")
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "listed", files: counts.done, noun: "member", bytes: nil,
        others: [(counts.failed, "failed")]))
    if findings.isCutShort { return .exit(counts.done == 0 ? .fatal : .outputIncomplete) }
    return .exit(ExitStatus(counts, hasUnmatched: !findings.unmatched.isEmpty))
  }
}

extension Session {
  /// Writes a row for each member of an archive or a snapshot.
  func list<Reader: BatchReader>(
    _ reader: sending Reader, as form: MemberRows.Form, isNULEnded: Bool = false
  ) -> RunSummary where Reader.Item == MemberListReader.Item, Reader.Row == Never {
    let results = ResultWriter(self)
    let rows = MemberRows(form: results.writesEvents ? .members : form, isNULEnded: isNULEnded)
    let job = MemberListJob { (member, bytes) in
      rows.append(member, to: &bytes)
    } output: { (rows) throws(BatchError) in
      try results.write(rows, as: "member")
    }
    return run(job, reading: reader).summary
  }
}
