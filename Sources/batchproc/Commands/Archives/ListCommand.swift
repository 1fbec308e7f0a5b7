import BatchCore
import BatchEngine

struct ListCommand: Command {
  private let choices: ReadingChoices
  private let call: ListCall
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try ReadingChoices(parsed, common: common, isRoot: StandardStreams.isRoot)
    let form: MemberRows.Form = choices.showsLongRows ? .long : choices.showsDigests ? .digests : .names
    let rows = MemberRows(form: common.json ? .members : form, isNULEnded: choices.endsRowsInNUL)
    var call = ListCall(
      .archive(choices.readArchive, choices.names.selection(), globs: choices.names.texts)
    ) { (member, bytes) in rows.append(member, to: &bytes) }
    call.isDetailed = choices.showsLongRows
    call.showsDigests = choices.showsDigests
    call.usesIndex = choices.usesIndex
    call.marksMembers = choices.showsLongRows || common.json
    call.inputs = choices.descriptorsOfReader
    session = try Session(common, environment: environment, for: &call)
    call.members = .archive(
      choices.readArchive, choices.names.selection(filter: try session.filter()), globs: choices.names.texts)
    self.call = call
  }

  func run() throws(BatchError) -> Ending {
    try session.list(call, noun: "member") { findings in
      session.warn(of: choices.archive, findings.remarks)
      session.report(unmatched: findings.unmatched, "no member of the archive matches")
    }
  }
}

extension Session {
  /// Writes a row for each member of an archive or a snapshot.
  ///
  /// - Parameter tell: reports what was found, before the summary.
  func list(_ call: ListCall, noun: String, tell: (ArchiveFindings) -> Void) throws(BatchError) -> Ending {
    let results = ResultWriter(self)
    let outcome = try run(call, .items([])) { (rows) throws(BatchError) in
      try results.write(rows, as: "member")
    }
    return ending(outcome) { findings in
      tell(findings)
      let counts = outcome.summary.counts
      return SummaryText(
        verb: "listed", files: counts.done, noun: noun, bytes: nil, others: [(counts.failed, "failed")])
    }
  }
}
