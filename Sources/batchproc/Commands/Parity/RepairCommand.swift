import BatchCore
import BatchEngine

/// `batchproc repair`: repairs files and sets of snapshots by their recovery data.
struct RepairCommand: Command {
  private let paths: [PathBytes]
  private let name: PathBytes?
  private let patience: SetLock.Patience
  private let keepsDamaged: Bool
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    guard !parsed.operands.isEmpty else {
      throw UsageError("Missing expected argument '<path> ...'.", in: parsed.command)
    }
    paths = parsed.operands
    name = parsed.bytes(.setName)
    patience = SetLock.Patience(limit: Double(parsed.duration(.lockWait) ?? 0))
    keepsDamaged = !parsed.flag(.force)
    // Only for the resources that the runs need.
    var call = RepairCall { (_) throws(BatchError) in throw BatchError(.invalid, "no set") }
    session = try Session(common, environment: environment, for: &call)
  }

  private struct Tally {
    var files = 0
    var damaged = 0
    var repaired = 0
    var failed = 0
    var refused = 0
    var damagedVolumes = 0
    var verdict = CallVerdict()
    /// Files that were examined, whatever was found.
    var looked: Int { files + damaged + failed + refused + damagedVolumes }
    /// Paths for which nothing could be done.
    var errors = 0
  }

  func run() throws(BatchError) -> Ending {
    let start = ContinuousClock.now
    var tally = Tally()
    for path in paths {
      do throws(BatchError) {
        try repair(path, &tally)
      } catch {
        guard paths.count > 1, error.code != .cancelled, !session.cancellation.isCancelled else {
          throw error
        }
        session.fail(error)
        tally.errors += 1
      }
    }
    try session.output.finish()
    session.reporter.summary(
      RunSummary(
        counts: session.context.counters.snapshot, stopped: session.cancellation.reason,
        elapsed: ContinuousClock.now - start),
      text: SummaryText(
        verb: "compared", files: tally.files, bytes: nil,
        others: [
          (tally.damaged, "damaged"), (tally.repaired, "repaired"), (tally.failed, "not repaired"),
          (tally.refused, "of another version"),
          (tally.damagedVolumes, "damaged recovery data"),
        ],
        tallies: [
          (tally.damaged, "damaged"), (tally.repaired, "repaired"), (tally.failed, "not_repaired"),
          (tally.refused, "refused"), (tally.damagedVolumes, "damaged_volumes"),
        ]))
    var verdict = tally.verdict.adding(.someFailed, if: tally.errors > 0)
    if tally.refused > 0, tally.repaired == 0, tally.failed == 0 { verdict.insert(.nothing) }
    return .exit(ExitStatus(verdict))
  }

  private func repair(_ path: PathBytes, _ tally: inout Tally) throws(BatchError) {
    if BackupTarget.isRemote(path), (try? path.status()) == nil {
      throw BatchError(.invalid, "is a remote, and only local files are repaired", path: path)
    }
    if (try? path.status(followingLinks: true))?.kind == .directory {
      let found = try sets(in: path)
      guard !found.isEmpty else {
        throw BatchError(.missing, "there is no set of snapshots in this directory", path: path)
      }
      let before = tally.looked
      for name in found { try repair(name, in: path, only: nil, &tally) }
      guard tally.looked > before else {
        throw BatchError(
          .missing, "no file of the sets in this directory has recovery data, so nothing was compared",
          path: path,
          remedy: "'batchproc verify' examines a set without them, and 'backup --parity 5%' makes them")
      }
    } else if let name = SnapshotName.of(path), try sets(in: path.parent).contains(name.set) {
      try repair(name.set, in: path.parent, only: PathBytes(path.lastComponent), &tally)
    } else {
      try repair(file: path, &tally)
    }
  }

  private func sets(in directory: PathBytes) throws(BatchError) -> [PathBytes] {
    let names = try BackupSet.names(repairableIn: directory, calls: session.context.calls)
    guard let name else { return names }
    return names.filter { $0 == name }
  }

  private func repair(
    _ name: PathBytes, in directory: PathBytes, only file: PathBytes?, _ tally: inout Tally
  ) throws(BatchError) {
    var call = RepairCall { (_) throws(BatchError) in try BackupSet(in: directory, named: name) }
    (call.only, call.patience) = (file, patience)
    (call.keepsDamaged, call.isSynced) = (keepsDamaged, common.fsync)
    let rows = ParityReportRows(session, namesWhole: common.verbose || common.json)
    let outcome = try call.perform(.items([]), in: session.context, watchedBy: Unwatched()) {
      [session] (report) throws(BatchError) in
      switch report {
      case .file(let row): try rows.write(row)
      case .failed(let error): session.fail(error)
      case .remade(let path): try rows.write(remade: path)
      }
    }
    if let error = outcome.summary.stopped ?? outcome.failure { throw error }
    guard let result = outcome.result else { return }
    tally.files += result.files
    tally.damaged += result.damaged
    tally.repaired += result.repaired
    tally.failed += result.failed
    tally.refused += result.refused
    tally.damagedVolumes += result.damagedVolumes
    tally.verdict.formUnion(outcome.verdict)
  }

  private func repair(file path: PathBytes, _ tally: inout Tally) throws(BatchError) {
    var call = ParityVerifyCall(path)
    (call.isRepairing, call.keepsDamaged, call.isSynced) = (true, keepsDamaged, common.fsync)
    let rows = ParityReportRows(session, namesWhole: common.verbose || common.json)
    let outcome = try call.perform(.items([]), in: session.context, watchedBy: Unwatched()) {
      (row) throws(BatchError) in try rows.write(row)
    }
    if let error = outcome.summary.stopped ?? outcome.failure { throw error }
    guard let result = outcome.result else { return }
    tally.files += result.files
    tally.damaged += result.damaged
    tally.repaired += result.repaired
    tally.refused += result.refused
    tally.failed += result.damaged - result.repaired - result.refused
    tally.damagedVolumes += result.damagedVolumes
    tally.verdict.formUnion(outcome.verdict.subtracting(.nothing))
  }
}
