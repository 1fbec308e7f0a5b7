import BatchCore
import BatchEngine

struct DrillCommand: Command {
  private let choices: BackupChoices
  private let share: Double
  private let budget: Duration?
  private let isAgainstLive: Bool
  /// Where this machine stores its state of encrypted sets.
  private let state: StatePlace?
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    share = parsed.flag(.all) ? 1 : parsed.share(.sample) ?? 0.05
    budget = parsed.duration(.timeBudget).map { .seconds($0) }
    isAgainstLive = parsed.flag(.againstLive)
    state = StateFile.place("manifests", environment: environment)
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    let source = try SetSource(choices, state: state, locks: true, session)
    defer { withExtendedLifetime(source) {} }
    let set = source.set
    let content = try source.content()
    for error in content.damaged { session.fail(error, severity: .warning) }
    let chosen = try choices.snapshot(of: content, in: set, session)
    let start = ContinuousClock.now
    do throws(BatchError) {
      let snapshot = try set.opened(chosen, in: session.context)
      let outcome = try makeCall(snapshot, of: set).perform(
        .items([]), in: session.context, watchedBy: Unwatched(), report: tell)
      if let error = outcome.summary.stopped ?? outcome.failure { throw error }
      guard let result = outcome.result else { return .exit(.fatal) }
      if let error = result.remains { session.reporter.fatal(error) }
      try session.output.finish()
      summarize(result, snapshot, elapsed: ContinuousClock.now - start)
      if result.damaged > 0 { session.adviseRepair(of: set) }
      return .exit(ExitStatus(outcome.verdict))
    } catch {
      guard error.code == .malformed else { return session.ending(after: error) }
      session.adviseRepair(of: set)
      return session.difference(error)
    }
  }

  private func makeCall(_ snapshot: Snapshot, of set: BackupSet) -> DrillCall {
    var call = DrillCall(temporary: session.temporary) { _ in (snapshot, set) }
    (call.share, call.budget, call.isAgainstLive) = (share, budget, isAgainstLive)
    (call.isSynced, call.pathLimits) = (common.fsync, common.walk.limits)
    call.follow = session.follow
    return call
  }

  @Sendable private func tell(_ report: DrillCall.Report) throws(BatchError) {
    switch report {
    case .restored(let findings): try AuditRows(session: session, areRestored: true).write(findings)
    case .rotten(let findings): try AuditRows(session: session, showsRotAlone: true).write(findings)
    }
  }

  private func summarize(_ result: DrillCall.Result, _ snapshot: Snapshot, elapsed: Duration) {
    let failed = result.damaged + result.undrilled
    let total = (files: result.total.files, bytes: Int64(clamping: result.total.bytes))
    session.reporter.summary(
      RunSummary(
        seen: result.files, done: result.files - failed, failed: failed, bytes: result.bytes, elapsed: elapsed
      ),
      text: SummaryText(
        verb: "drilled \(snapshot.name.stamp):", files: result.files, bytes: result.bytes,
        total: result.files == total.files ? nil : total,
        others: [
          (result.others, result.others == 1 ? "link or FIFO too" : "links and FIFOs too"),
          (result.damaged, "damaged"), (result.undrilled, "could not be drilled"),
          (result.rotten, "rotten live files"),
        ],
        tallies: [
          (result.damaged, "damaged"), (result.undrilled, "undrilled"), (result.rotten, "rot"),
          (total.files, "snapshot_files"), (Int(clamping: total.bytes), "snapshot_bytes"),
        ]))
  }
}
