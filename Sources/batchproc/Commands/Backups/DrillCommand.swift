import BatchCore
import BatchEngine
import Synchronization

struct DrillCommand: Command {
  private let choices: BackupChoices
  private let share: Double
  private let budget: Duration?
  private let isAgainstLive: Bool
  /// Where this machine stores its state of encrypted sets.
  private let state: PathBytes?
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    share = parsed.flag(.all) ? 1 : parsed.share(.sample) ?? 0.05
    budget = parsed.duration(.timeBudget).map { .seconds($0) }
    isAgainstLive = parsed.flag(.againstLive)
    state = StateFile.path("manifests", environment: environment)
    session = try Session(common, environment: environment)
  }

  private struct Tally {
    var files = 0
    var bytes: Int64 = 0
    var damaged = 0
    /// Files that could not be restored for lack of space.
    var undrilled = 0
    var rotten = 0
    var isStopped = false
    /// Whether the temporary folder was full, or could not be emptied.
    var isWithoutRoom = false
  }

  func run() throws(BatchError) -> Ending {
    let start = ContinuousClock.now
    let context = session.context
    let source = try SetSource(choices, state: state, locks: true, session)
    defer { withExtendedLifetime(source) {} }
    let set = source.set
    let content = try source.content()
    for error in content.damaged { session.fail(error, severity: .warning) }
    let chosen = try choices.snapshot(of: content, in: set, session)
    var tally = Tally()
    let drill: Drill
    do throws(BatchError) {
      let snapshot = try set.opened(chosen, in: context)
      drill = try Drill(snapshot, of: set, share: share, isSynced: common.fsync, in: context)
      while !tally.isWithoutRoom, let portion = try drill.next() {
        try restore(portion, of: drill, &tally)
        if let budget, ContinuousClock.now - start >= budget, !drill.isComplete {
          tally.isStopped = true
          break
        }
      }
    } catch {
      guard error.code == .malformed else { return session.ending(after: error) }
      return session.difference(error)
    }
    try session.output.finish()
    summarize(tally, drill, elapsed: ContinuousClock.now - start)
    if tally.undrilled > 0 || tally.isWithoutRoom { return .exit(.outputIncomplete) }
    if tally.damaged + tally.rotten > 0 { return .exit(.differences) }
    return .exit(tally.isStopped ? .budgetReached : .success)
  }

  private func summarize(_ tally: Tally, _ drill: Drill, elapsed: Duration) {
    let failed = tally.damaged + tally.undrilled
    let total = (files: drill.total.files, bytes: Int64(clamping: drill.total.bytes))
    session.reporter.summary(
      RunSummary(
        seen: tally.files, done: tally.files - failed, failed: failed, bytes: tally.bytes, elapsed: elapsed),
      text: SummaryText(
        verb: "drilled \(drill.snapshot.name.stamp):", files: tally.files, bytes: tally.bytes,
        total: tally.files == total.files ? nil : total,
        others: [
          (tally.damaged, "damaged"), (tally.undrilled, "could not be drilled"),
          (tally.rotten, "rotten live files"),
        ],
        tallies: [
          (tally.damaged, "damaged"), (tally.undrilled, "undrilled"), (tally.rotten, "rot"),
          (total.files, "snapshot_files"), (Int(clamping: total.bytes), "snapshot_bytes"),
        ]))
  }

  /// Restores some files, compares them, and removes them.
  private func restore(
    _ portion: Drill.Portion, of drill: Drill, _ tally: inout Tally
  ) throws(BatchError) {
    let folder = try TemporaryFolder(in: session.temporary, for: "drill", calls: session.context.calls)
    var undrilled = try extract(portion, of: drill, into: folder.path, &tally)
    var damaged: Set<PathBytes> = []
    // If there was no space, the run ends.
    if !tally.isWithoutRoom {
      let compared = try compare(portion, of: drill, with: folder.path, isLive: false, leavingOut: undrilled)
      damaged = compared.different
      undrilled.formUnion(compared.unreadable)
    }
    tally.files += portion.entries.count
    tally.bytes += min(Int64(clamping: portion.amount.bytes), .max - tally.bytes)
    tally.damaged += damaged.count
    tally.undrilled += undrilled.count
    if isAgainstLive, !tally.isWithoutRoom {
      tally.rotten += try compare(portion, of: drill, with: "/", isLive: true).different.count
    }
    try drill.finish(portion, damaged: damaged, undrilled: undrilled)
    do throws(BatchError) {
      try folder.remove()
    } catch {
      session.reporter.fatal(error)
      tally.isWithoutRoom = true
    }
  }

  /// - Returns: the files for which the temporary folder had no space, which are reported.
  private func extract(
    _ portion: Drill.Portion, of drill: Drill, into folder: PathBytes,
    _ tally: inout Tally
  ) throws(BatchError) -> Set<PathBytes> {
    var options = ExtractionOptions()
    options.keepsGoing = true
    options.isSynced = false
    options.restoresOwner = false
    options.pathLimits = common.walk.limits
    options.memory = session.context.options.memory
    // Other files that cannot be restored are reported by the comparison.
    let refusals = OutputRefusals()
    let extraction = RunContext(
      sharing: session.context, stride: .automatic, observer: refusals, fileTimes: session.fileTimes)
    session.follow(extraction)
    let call = ExtractCall(.portion(try drill.reader(of: portion, options: options)), into: folder, options)
    let restored = try call.perform(.items([]), in: extraction, watchedBy: Unwatched()) { _ in }
    if let stopped = restored.summary.stopped {
      guard stopped.isOutOfSpace else { throw stopped }
      tally.isWithoutRoom = true
      tell(stopped, "\(ByteCount.files(portion.entries.count)) could not be drilled", session.temporary)
      return Set(portion.entries.map(\.path))
    }
    if let failure = restored.result?.extraction.failure { throw failure }
    let refused = refusals.errors
    let entries = portion.entries.filter { entry in
      refused[entry.path] != nil || entry.firstName.map { refused[$0] != nil } ?? false
    }
    for entry in entries {
      guard let error = refused[entry.path] ?? entry.firstName.flatMap({ refused[$0] }) else { continue }
      tell(error, "could not be drilled", entry.path)
    }
    return Set(entries.map(\.path))
  }

  private func tell(_ error: BatchError, _ text: String, _ path: PathBytes) {
    session.fail(
      BatchError(
        .unwritable, "\(text): \(error.message)", path: path, errno: error.errno,
        remedy: "set TMPDIR to a directory that can hold it"))
  }

  /// - Returns: the files that differ, and those that could not be read.
  private func compare(
    _ portion: Drill.Portion, of drill: Drill, with folder: PathBytes, isLive: Bool,
    leavingOut unknown: Set<PathBytes> = []
  ) throws(BatchError) -> (different: Set<PathBytes>, unreadable: Set<PathBytes>) {
    let context = RunContext(
      sharing: session.context, stride: .automatic, observer: isLive ? nil : session.reporter)
    let live = try LiveTree(
      folder, options: WalkOptions(),
      sources: isLive ? drill.snapshot.footer.sources.compactMap(\.place) : [],
      in: SourceContext(context))
    let rows = AuditRows(session: session, showsRotAlone: isLive, areRestored: !isLive)
    let found = Mutex<Set<PathBytes>>([])
    let seen = Mutex<Set<PathBytes>>([])
    let call = AuditCall(.files(drill.audit(of: portion, live: live, isRestored: !isLive), live))
    let outcome = try call.perform(.items([]), in: context, watchedBy: Unwatched()) {
      (all) throws(BatchError) in
      seen.withLock { $0.formUnion(all.map(\.path)) }
      let findings = all.filter { !unknown.contains($0.path) }
      let different = findings.filter { finding in
        finding.difference.map { !isLive || $0.kind == .rot } ?? false
      }
      found.withLock { $0.formUnion(different.map(\.path)) }
      try rows.write(isLive ? different : findings)
    }
    if let stopped = outcome.summary.stopped { throw stopped }
    // There is no finding about a file that cannot be read.
    let unreadable =
      outcome.summary.counts.failed > 0
      ? seen.withLock { seen in portion.entries.map(\.path).filter { !seen.contains($0) } } : []
    return (found.withLock { $0 }, Set(unreadable))
  }
}

/// Errors of outputs, by the files that could not be created.
private final class OutputRefusals: RunObserver {
  private let found = Mutex<[PathBytes: BatchError]>([:])

  var errors: [PathBytes: BatchError] { found.withLock { $0 } }

  func met(_ problem: Problem, severity: Severity) {
    guard problem.error.code == .unwritable, severity == .failure, let path = problem.error.path else {
      return
    }
    found.withLock { $0[path] = problem.error }
  }
}
