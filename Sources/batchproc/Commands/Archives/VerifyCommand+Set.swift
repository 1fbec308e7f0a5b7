import BatchCore
import BatchEngine
import Synchronization

// Verifies all archives of the sets in a directory, or a share of them: `batchproc verify SET`.
extension VerifyCommand {
  private struct Tally {
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
    var tally = Tally()
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

  private func verify(_ set: BackupSet, _ tally: inout Tally) throws(BatchError) {
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

  /// Compares an encrypted archive with the digest in its companion.
  private func verify(
    _ name: SnapshotName, in set: BackupSet, isNeeded: Bool, _ record: DamageRecord?, _ tally: inout Tally
  ) throws(BatchError) {
    let path = set.path(name.archive)
    guard share?.beginning(at: path.lastComponent).takes(0) != false else { return }
    // Earlier versions removed the companion with the manifest, although other snapshots needed the archive.
    guard let companion = try set.companion(of: name) else {
      if isNeeded { tally.unverified += 1 }
      return session.fail(
        BatchError(
          .unsupported, "is not verified: no companion records its digest", path: path,
          remedy: .giveIdentity), severity: isNeeded ? .failure : .warning)
    }
    guard try BackupSet.digest(of: path, in: session.context) == companion.archiveDigest else {
      throw BatchError(.malformed, "its digest differs from the companion of its snapshot", path: path)
    }
    record?.note(sameDigestOf: name, companion)
    tally.archives += 1
    tally.bytes.addClamped(Int64(clamping: companion.archiveSize))
  }

  private func verify(
    _ name: SnapshotName, of snapshot: Snapshot?, in set: BackupSet, _ record: DamageRecord?,
    _ tally: inout Tally
  ) throws(BatchError) {
    let path = set.path(name.archive)
    let share = share?.beginning(at: path.lastComponent)
    let part = RunContext(sharing: session.context, stride: .automatic, observer: session.reporter)
    session.follow(part)
    var archive = ReadArchive(path)
    (archive.keys, archive.isOfSet) = (keys, true)
    var call = VerifyCall(archive)
    call.share = share
    let damaged = Mutex(0)
    let rows = VerifyRows(showsWhole: false)
    let outcome = try call.perform(.items([]), in: part, watchedBy: Unwatched()) {
      [session] (findings) throws(BatchError) in
      session.advanced(findings.count)
      let bad = findings.filter { $0.damage != nil }
      damaged.withLock { $0 += bad.count }
      for finding in findings { record?.note(finding.path, in: name, isDamaged: finding.damage != nil) }
      try session.write(bad, as: "member") { line, finding in
        line.add(path: finding.path)
        line.add("outcome", "damaged")
      } text: { finding, bytes in
        rows.append(finding, to: &bytes)
      }
    }
    if let stopped = outcome.summary.stopped { throw stopped }
    let count = damaged.withLock { $0 }
    tally.archives += 1
    tally.members += outcome.summary.counts.done
    tally.damaged += count
    tally.bytes.addClamped(outcome.summary.counts.byteCount)
    guard let verification = outcome.result else { return }
    if share == nil { record?.note(readingOf: name) }
    if count == 0, verification.isDifferent { record?.note(damageOf: name) }
    for text in verification.damage { fail(BatchError(.malformed, text, path: path), &tally) }
    if count > 0 {
      session.fail(
        BatchError(.malformed, "\(ByteCount.counted(count, "member")) damaged, named above", path: path))
    }
    if let recorded = snapshot?.footer.index, let digest = verification.indexDigest, recorded != digest {
      record?.note(damageOf: name)
      fail(
        BatchError(.malformed, "is not the archive that the manifest of its snapshot records", path: path),
        &tally)
    }
    if session.common.verbose {
      session.diagnostics.report(
        "\(TerminalText.string(path.bytes)): \(ByteCount.counted(outcome.summary.counts.done, "member")) read",
        as: .note)
    }
  }

  private func fail(_ error: BatchError, _ tally: inout Tally) {
    tally.problems += 1
    session.fail(error)
  }
}
