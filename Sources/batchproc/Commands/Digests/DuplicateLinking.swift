import BatchCore
import BatchEngine

/// Links the copies that `duplicates --link` found, and reports the result.
struct DuplicateLinking: Sendable {
  let mode: LinkMode
  let common: CommonOptions
  let endsNamesInNUL: Bool

  /// - Parameter search: the search for groups.
  func run(
    _ groups: [DuplicateGroup], after search: CallOutcome<DuplicatesCall.Result>, in session: Session
  ) throws(BatchError) -> Ending {
    // Problems of the search count here too.
    let part = RunContext(
      options: session.context.options, cancellation: session.cancellation, observer: session.reporter)
    let call = LinkCall(groups, mode, isDryRun: common.dryRun, isSynced: common.fsync)
    let outcome = try call.perform(.items([]), in: part, watchedBy: Unwatched()) {
      outcome throws(BatchError) in
      try tell(outcome, in: session)
    }
    if let ending = session.endingBeforeSummary(outcome.summary) { return ending }
    let tally = outcome.result ?? LinkCollector.Tally()
    let counts = search.summary.counts
    let failed = counts.failed + outcome.summary.counts.failed
    let verb = mode == .hard ? "linked" : "shared the blocks of"
    session.reporter.summary(
      RunSummary(counts: counts, stopped: nil, elapsed: search.summary.elapsed + outcome.summary.elapsed),
      text: SummaryText(
        verb: common.dryRun ? mode == .hard ? "would link" : "would share the blocks of" : verb,
        files: tally.linked, bytes: tally.bytes,
        others: [
          ByteCount.tally(groups.count, "group"), (tally.left, "left alone"), (failed, "failed"),
        ],
        showsRate: false,
        tallies: [
          (groups.count, "groups"), (tally.linked, "linked"), (tally.left, "left"),
          (outcome.summary.counts.failed, "unlinked"),
        ]))
    return .exit(ExitStatus(search.verdict.union(outcome.verdict)))
  }

  private func tell(_ outcome: LinkOutcome, in session: Session) throws(BatchError) {
    if let events = session.events {
      return try events.write("link") { line in
        line.add(path: outcome.copy)
        line.add(path: outcome.kept, as: "kept")
        line.add("size", outcome.size)
        line.add("outcome", outcome.result.word)
        if case .left(let reason) = outcome.result { line.add("reason", reason.text) }
      }
    }
    switch outcome.result {
    case .left(.sharesNoBlocks): break
    case .left(let reason):
      guard !common.quiet else { return }
      session.diagnostics.report(
        BatchError(
          .invalid,
          "left alone: \(reason.text) (the same bytes as \(TerminalText.string(outcome.kept.bytes)))",
          path: outcome.copy), as: .note)
    case .linked where !common.verbose: break
    case .linked, .planned:
      var row: [UInt8] = []
      if endsNamesInNUL {
        row = outcome.copy.bytes + [0] + outcome.kept.bytes + [0]
      } else {
        TerminalText.append(outcome.copy.bytes, to: &row)
        row += " => ".utf8
        TerminalText.append(outcome.kept.bytes, to: &row)
        row.append(UInt8(ascii: "\n"))
      }
      try session.output.write(row)
    }
  }
}

extension LinkOutcome.Result {
  fileprivate var word: String {
    switch self {
    case .linked: "linked"
    case .planned: "planned"
    case .left: "left"
    }
  }
}

extension LinkOutcome.Reason {
  fileprivate var text: String {
    switch self {
    case .otherFileSystem: "it is on another file system"
    case .otherMetadata: "another owner, mode, access control list or attribute"
    case .furtherNames: "it has names outside of the paths given"
    case .isOpen: "it is open for writing"
    case .keptIsOpen: "the file that it would become a name of is open for writing"
    case .tooManyNames: "a file can have no more names here"
    case .sharesNoBlocks: "its file system shares no blocks between files"
    }
  }
}
