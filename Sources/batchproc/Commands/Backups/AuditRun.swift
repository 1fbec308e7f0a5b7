import BatchCore
import BatchEngine

/// Compares two of a folder, a manifest, a snapshot and an archive.
struct AuditRun {
  let session: Session

  /// - Parameters:
  ///   - parts: names of the first side that are compared; nil for all.
  ///   - aligns: whether the names of both sides may begin in different folders.
  ///   - complete: runs before the summary; its ending replaces the usual one.
  func compare(
    _ first: Comparand, _ second: Comparand, parts: [PathBytes]? = nil, aligns: Bool = true,
    complete: (AuditPreparation, AuditJob.Tally, _ failed: Int) throws(BatchError) -> Ending? = { _, _, _ in
      nil
    }
  ) throws(BatchError) -> Ending {
    let rows = AuditRows(session: session)
    let call = AuditCall(
      .pair(first, second, parts: parts, aligns: aligns, walk: try walkOptions(first, second)))
    let outcome: CallOutcome<AuditCall.Result>
    do throws(BatchError) {
      outcome = try session.run(call, .items([])) { (findings) throws(BatchError) in try rows.write(findings)
      }
    } catch {
      return try session.ending(ofDamaged: error)
    }
    if let ending = session.endingBeforeSummary(outcome.summary) { return ending }
    guard let result = outcome.result, let preparation = result.preparation else { return .exit(.fatal) }
    let (tally, counts) = (result.tally, outcome.summary.counts)
    let failed = counts.failed + result.unread
    let completed = try complete(preparation, tally, failed)
    if tally.same == 0, tally.recorded > 0, tally.counts[.missing] == tally.recorded {
      adviseOnNames(first, second, preparation)
    }
    let nouns = Self.nouns(first, second)
    session.reporter.summary(
      outcome.summary,
      text: SummaryText(
        verb: "audited", files: tally.recorded,
        things:
          "\(ByteCount.grouped(tally.recorded)) of the \(nouns.0), \(ByteCount.grouped(tally.other)) of the \(nouns.1)",
        bytes: second.isFolder ? counts.byteCount : nil, others: tally.words + [(failed, "failed")],
        tallies: tally.words + [
          (tally.same, "same"), (tally.recorded, "recorded"), (tally.other, "compared"),
        ]))
    return completed ?? .exit(ExitStatus(outcome.verdict))
  }

  /// The walk of the options for these sides.
  func walkOptions(_ first: Comparand, _ second: Comparand) throws(BatchError) -> WalkOptions {
    try session.walkOptions(forAllBut: []).comparing(first, second)
  }

  private static func nouns(_ first: Comparand, _ second: Comparand) -> (String, String) {
    first.noun == second.noun
      ? ("first \(first.noun)", "second \(second.noun)") : (first.noun, second.noun)
  }

  private func adviseOnNames(_ first: Comparand, _ second: Comparand, _ preparation: AuditPreparation) {
    let start = PathBytes(preparation.start.dropLast())
    guard !start.isEmpty, !first.isFolder else { return }
    session.warn(
      BatchError(
        .missing,
        "none of the names in it is there: all begin with '\(TerminalText.string(start.bytes))'",
        path: first.path,
        remedy: .advice("is \(TerminalText.string(second.path.bytes)) what it was made of?")), as: .note)
  }
}
