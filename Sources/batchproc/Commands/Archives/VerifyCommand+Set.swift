import BatchCore
import BatchEngine
import Synchronization

// Verifies all archives of the sets in a directory, or a share of them: `batchproc verify SET`.
extension VerifyCommand {
  struct SetTally {
    var archives = 0
    var members = 0
    var damaged = 0
    /// What was reported about whole files.
    var problems = 0
    /// Needed archives of which no digest is known.
    var unverified = 0
    var bytes: Int64 = 0
  }

  func verifySets() throws(BatchError) -> Ending {
    let all = try BackupSet.names(in: path, calls: session.context.calls)
    let names = name.map { [$0] } ?? all
    var tally = SetTally()
    for name in names {
      var set = try BackupSet(in: path, named: name, session.context)
      set.keys = keys
      set.privateFolder = state
      let lock = try set.lockForReading(patience, in: session.context)
      defer { withExtendedLifetime(lock) {} }
      try verify(set, &tally)
    }
    try session.output.finish()
    session.reporter.summary(
      RunSummary(
        seen: tally.members, done: tally.members - tally.damaged, failed: tally.damaged, bytes: tally.bytes),
      text: SummaryText(
        verb: "verified", files: tally.members, noun: "member", bytes: tally.bytes,
        kinds: [(tally.archives, "archive")],
        others: [
          (tally.damaged, "damaged"), ByteCount.tally(tally.problems, "problem"),
          (tally.unverified, tally.unverified == 1 ? "archive not verified" : "archives not verified"),
        ],
        tallies: [
          (tally.archives, "archives"), (tally.damaged, "damaged"), (tally.unverified, "unverified_archives"),
        ]))
    if tally.damaged + tally.problems > 0 { return .exit(.differences) }
    return .exit(tally.unverified > 0 ? .someFailed : .success)
  }

  private func verify(_ set: BackupSet, _ tally: inout SetTally) throws(BatchError) {
    let content = try set.content(in: session.context)
    for error in content.damaged { fail(error, &tally) }
    var record: DamageRecord?
    do throws(BatchError) {
      record = try DamageRecord(of: set)
    } catch {
      session.fail(error, severity: .warning)
    }
    var needed: Set<SnapshotName> = []
    for snapshot in content.snapshots {
      needed.formUnion(snapshot.archives)
      let part = share?.beginning(at: snapshot.name.stamp.utf8)
      guard part?.takes(0) != false else { continue }
      do throws(BatchError) {
        try set.check(keys == nil ? snapshot : set.opened(snapshot, in: session.context), in: session.context)
        if let error = try set.rowsOutside(of: snapshot, in: session.context) { fail(error, &tally) }
      } catch {
        try session.cancellation.check()
        fail(error, &tally)
      }
    }
    for name in Self.sorted(needed) where content.archives[name] == nil {
      fail(
        BatchError(.malformed, "is missing, and snapshots need it", path: set.path(name.archive)), &tally)
    }
    let snapshots = Dictionary(content.snapshots.map { ($0.name, $0) }) { first, _ in first }
    for name in Self.sorted(content.archives.keys) {
      do throws(BatchError) {
        if name.isEncrypted, keys == nil {
          try verify(name, in: set, isNeeded: needed.contains(name), record, &tally)
        } else {
          try verify(name, of: snapshots[name], in: set, record, &tally)
        }
      } catch {
        try session.cancellation.check()
        if error.code == .malformed || error.isOfDevice { record?.note(damageOf: name) }
        fail(error, &tally)
      }
    }
    do throws(BatchError) {
      try record?.save(isSynced: true, in: session.context)
    } catch {
      try session.cancellation.check()
      session.fail(
        BatchError(
          error.code, "the damage that was found is not recorded for the next backup: \(error.message)",
          path: error.path, errno: error.errno), severity: .warning)
    }
  }

  private static func sorted(_ names: some Collection<SnapshotName>) -> [SnapshotName] {
    names.sorted { ($0.stamp, $0.archive) < ($1.stamp, $1.archive) }
  }
}
