import BatchCore
import BatchEngine
import Synchronization

/// Verifies the archives of a set.
extension VerifyCommand {
  /// Compares an encrypted archive with the digest in its companion.
  func verify(
    _ name: SnapshotName, in set: BackupSet, isNeeded: Bool, _ record: DamageRecord?, _ tally: inout SetTally
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
    let digest = try BackupSet.digest(of: path, in: session.context)
    guard let found = companion.archives.first(where: { $0.digest == digest }) else {
      throw BatchError(.malformed, "its digest differs from the companion of its snapshot", path: path)
    }
    record?.note(sameDigestOf: name, companion)
    tally.archives += 1
    tally.bytes.addClamped(Int64(clamping: found.size))
  }

  func verify(
    _ name: SnapshotName, of snapshot: Snapshot?, in set: BackupSet, _ record: DamageRecord?,
    _ tally: inout SetTally
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

  func fail(_ error: BatchError, _ tally: inout SetTally) {
    tally.problems += 1
    session.fail(error)
  }
}
