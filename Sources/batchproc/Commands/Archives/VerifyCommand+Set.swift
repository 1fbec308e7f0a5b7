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
    /// Encrypted snapshots of which the keys open no file, so that only digests of the encrypted files were compared.
    var locked: Set<SnapshotName> = []
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
      let before = tally.damaged + tally.problems
      try verify(set, &tally)
      try verifyParity(of: set, &tally)
      if tally.damaged + tally.problems > before { session.adviseRepair(of: set) }
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
          (tally.locked.count, tally.locked.count == 1 ? "needs another key" : "need another key"),
        ],
        tallies: [
          (tally.archives, "archives"), (tally.damaged, "damaged"), (tally.unverified, "unverified_archives"),
          (tally.locked.count, "other_keys"),
        ]))
    if tally.damaged + tally.problems > 0 { return .exit(.differences) }
    return .exit(tally.unverified + tally.locked.count > 0 ? .someFailed : .success)
  }

  private func verify(_ set: BackupSet, _ tally: inout SetTally) throws(BatchError) {
    let content = try set.content(in: session.context)
    for error in content.damaged { fail(error, &tally) }
    session.warn(ofUnlisted: content.unlisted, in: set.directory)
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
        try set.check(snapshot, in: session.context)
        guard keys != nil || !snapshot.name.isEncrypted else { continue }
        do throws(BatchError) {
          _ = try set.opened(snapshot, in: session.context)
        } catch {
          try skip(snapshot.name, set.path(snapshot.name.manifest), error, &tally)
          continue
        }
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
          do throws(BatchError) {
            try verify(name, of: snapshots[name], in: set, record, &tally)
          } catch {
            // A damaged header looks like a file for another recipient.
            guard name.isEncrypted, error.code == .unsupported else { throw error }
            try verify(name, in: set, isNeeded: needed.contains(name), record, &tally)
            try skip(name, set.path(name.archive), error, &tally)
          }
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

  /// Reports once for each snapshot that its files need another key.
  ///
  /// - Throws: the error, unless no key opens the file.
  private func skip(
    _ name: SnapshotName, _ path: PathBytes, _ error: BatchError, _ tally: inout SetTally
  ) throws(BatchError) {
    guard error.code == .unsupported else { throw error }
    guard tally.locked.insert(name).inserted else { return }
    session.fail(
      BatchError(
        .unsupported,
        "needs another key: only the digests of the encrypted files of this snapshot are compared",
        path: path, remedy: .giveIdentity))
  }

  private static func sorted(_ names: some Collection<SnapshotName>) -> [SnapshotName] {
    names.sorted { ($0.stamp, $0.archive) < ($1.stamp, $1.archive) }
  }
}
