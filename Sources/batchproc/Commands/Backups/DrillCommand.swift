import BatchCore
import BatchEngine
import Synchronization

/// `batchproc drill`.
struct DrillCommand: Command {
  private let choices: BackupChoices
  private let share: Double
  private let budget: Duration?
  private let isAgainstLive: Bool
  private let temporary: PathBytes
  private let common: CommonOptions
  let session: Session

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    share = parsed.flag(.all) ? 1 : parsed.decimal(.sample) ?? 0.05
    budget = parsed.duration(.timeBudget).map { .seconds($0) }
    isAgainstLive = parsed.flag(.againstLive)
    let place = environment("TMPDIR")
    temporary = place.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
    self.common = common
    session = try Session(common, environment: environment)
  }

  /// What was found out so far.
  private struct Tally {
    var files = 0
    var bytes: Int64 = 0
    var damaged = 0
    var rotten = 0
    var isStopped = false
  }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending {
    let start = ContinuousClock.now
    let context = session.context
    let set = try BackupSet(in: choices.directory, named: choices.name, context)
    let lock = try set.lockForReading(choices.patience, in: context)
    defer { withExtendedLifetime(lock) {} }
    let content = try set.content(in: context)
    for error in content.damaged { session.reporter.met(Problem(.unreadable, error), severity: .warning) }
    let snapshot = try content.snapshot(at: choices.place)
    var tally = Tally()
    do throws(BatchError) {
      let drill = try Drill(snapshot, of: set, share: share, isSynced: common.fsync, in: context)
      while let batch = try drill.next() {
        try restore(batch, of: drill, &tally)
        if let budget, ContinuousClock.now - start >= budget, drill.remaining > 0 {
          tally.isStopped = true
          break
        }
      }
    } catch {
      guard error.code == .malformed else { return session.endingBySignal ?? session.ending(after: error) }
      session.reporter.fatal(error)
      return .exit(.differences)
    }
    try session.output.finish()
    var counts = Counters.Snapshot()
    (counts.seen, counts.done, counts.failed, counts.byteCount) = (
      tally.files, tally.files - tally.damaged, tally.damaged, tally.bytes
    )
    session.reporter.summary(
      RunSummary(counts: counts, stopped: nil, elapsed: ContinuousClock.now - start),
      text: SummaryText(
        verb: "drilled \(snapshot.name.stamp):", files: tally.files, bytes: tally.bytes,
        others: [(tally.damaged, "damaged"), (tally.rotten, "rotten live files")],
        tallies: [(tally.damaged, "damaged"), (tally.rotten, "rot")]))
    if tally.damaged + tally.rotten > 0 { return .exit(.differences) }
    return .exit(tally.isStopped ? .budgetReached : .success)
  }

  /// Restores some files, compares them, and removes them.
  private func restore(_ batch: Drill.Batch, of drill: Drill, _ tally: inout Tally) throws(BatchError) {
    let folder = try TemporaryFolder(in: temporary)
    defer { withExtendedLifetime(folder) {} }
    var options = ExtractionOptions()
    options.keepsGoing = true
    options.isSynced = false
    options.restoresOwner = StandardStreams.isRoot
    options.usesNumericOwner = true
    options.restoresPrivileges = true
    options.memory = session.context.options.memory
    // What cannot be restored is named when it is compared.
    let extraction = RunContext(
      sharing: session.context, stride: .automatic, observer: nil, fileTimes: session.fileTimes)
    session.follow(extraction)
    let job = try ExtractJob(into: folder.path, selection: MemberSelection(), options: options) { _ in }
    let restored = BatchRunner(extraction).run(job, over: try drill.source(of: batch, options: options))
    try check(restored)
    if let failure = restored.result?.failure { throw failure }
    let damaged = try compare(batch, of: drill, with: folder.path, isLive: false)
    tally.files += batch.entries.count
    tally.bytes += restored.summary.counts.byteCount
    tally.damaged += damaged.count
    if isAgainstLive { tally.rotten += try compare(batch, of: drill, with: "/", isLive: true).count }
    try drill.finish(batch, damaged: damaged)
  }

  /// - Returns: the files that differ.
  private func compare(
    _ batch: Drill.Batch, of drill: Drill, with folder: PathBytes, isLive: Bool
  ) throws(BatchError) -> Set<PathBytes> {
    let context = RunContext(
      sharing: session.context, stride: .automatic, observer: isLive ? nil : session.reporter)
    let live = try LiveTree(folder, options: WalkOptions(), run: context)
    let rows = AuditRows(session: session, showsRotAlone: isLive)
    let found = Mutex<Set<PathBytes>>([])
    let job = AuditJob(live: live) { (findings) throws(BatchError) in
      let different = findings.filter { finding in
        finding.difference.map { !isLive || $0.kind == .rot } ?? false
      }
      found.withLock { $0.formUnion(different.map(\.path)) }
      try rows.write(isLive ? different : findings)
    }
    try check(BatchRunner(context).run(job, over: drill.audit(of: batch, live: live)))
    return found.withLock { $0 }
  }

  private func check<Result>(_ outcome: RunOutcome<Result>) throws(BatchError) {
    if let stopped = outcome.summary.stopped { throw stopped }
  }
}
