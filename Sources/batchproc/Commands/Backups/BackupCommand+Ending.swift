import BatchCore
import BatchEngine

/// What follows when everything is archived: removals, copies, the summary.
extension BackupCommand {
  func finish(
    _ result: BackupCall.Result, _ outcome: CallOutcome<BackupCall.Result>, _ report: inout BackupHooks.Report
  ) -> Ending {
    let (backup, content, verified) = (result.backup, result.content, result.verified)
    if content.leftOut > 0 {
      session.warn(
        BatchError(
          .special,
          "\(ByteCount.files(content.leftOut)) of sets in it, or in the directory of copies, are not backed up",
          path: choices.directory), as: .note)
    }
    var prune: Prune?
    var failure: BatchError?
    let failures = Int(clamping: content.footer.failures ?? 0)
    if failures > 0, !choices.retention.isEmpty || copies.contains(where: { !$0.retention.isEmpty }) {
      session.fail(
        BatchError(
          .unreadable,
          "no old snapshot is removed, since \(ByteCount.counted(failures, "input")) could not be backed up",
          remedy: "use --exclude for files that can never be read, or --on unreadable=warn"),
        severity: .warning)
    }
    // What rot replaced may be whole only in an old snapshot.
    let mayRemove = failures == 0 && content.rotten == 0
    do throws(BatchError) {
      if !choices.retention.isEmpty, mayRemove {
        // Opening all manifests with a passphrase would take a second for each.
        var set = backup.set
        set.keys = nil
        prune = try choices.prune(
          set, of: content.header.name, .held(backup.lock, choices.patience), isSynced: common.fsync,
          in: session.context)
        session.warn(ofFuture: prune?.future ?? [])
      }
    } catch {
      // The snapshot exists; only old ones could not be removed.
      failure = error
      if !session.cancellation.isCancelled { session.reporter.fatal(error) }
    }
    let removed = backup.removedBefore.count + (prune?.removed.count ?? 0)
    let compacted = prune?.compacted.count ?? 0
    let complete = copy(backup.set, of: content.header.name, removes: mayRemove)
    report.content = content
    let counts = session.context.counters.snapshot
    let kind = content.header.isFull ? "full" : "increment \(content.header.increment)"
    let tree =
      "\(content.header.name.stamp), \(kind), of \(ByteCount.files(Int(clamping: content.footer.files)))"
    let text = SummaryText(
      verb: "snapshot \(tree), \(ByteCount.text(Int64(clamping: content.footer.bytes))): archived",
      files: tally.files, bytes: tally.bytes, kinds: tally.kinds,
      others: [
        (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
        (counts.failed, "failed"), (content.rotten, "rotten"),
        (content.references, "stored before"),
        (content.repeated, "read again: changed shortly before the last backup"),
        (verified ?? 0, "verified"),
        (removed, removed == 1 ? "old snapshot removed" : "old snapshots removed"),
        (compacted, compacted == 1 ? "archive compacted" : "archives compacted"),
      ],
      tallies: [
        (Int(clamping: content.footer.files), "snapshot_files"),
        (Int(clamping: content.footer.bytes), "snapshot_bytes"), (content.references, "references"),
      ] + (verified.map { [($0, "verified")] } ?? [])
        + (prune == nil ? [] : [(removed, "removed"), (compacted, "archives_compacted")])
        + (copies.isEmpty ? [] : [(complete, "copies"), (copies.count - complete, "copies_failed")]))
    session.reporter.summary(
      RunSummary(counts: counts, stopped: session.cancellation.reason, elapsed: outcome.summary.elapsed),
      text: text)
    let verdict = outcome.verdict
      .adding(.incomplete, if: failure?.code == .unwritable)
      .adding(.someFailed, if: failure != nil || complete < copies.count)
    let status = failure?.code == .locked ? .locked : ExitStatus(verdict)
    // The mail of cron should still contain the summary.
    if status != .success, common.quiet, !common.json {
      session.diagnostics.print(text.line(seconds: report.stopwatch.seconds))
    }
    return .exit(status)
  }

  /// The error, with advice for the set if its disk is full.
  func advised(_ error: BatchError) -> BatchError {
    guard error.isOutOfSpace else { return error }
    return BatchError(
      error.code, error.message, path: error.path, errno: error.errno,
      remedy: options.retentionBefore.isEmpty ? .pruneSet : .pruneSetFurther)
  }

  /// Copies the set to each place, also after a place that failed.
  ///
  /// - Parameter removes: whether copies that no rule keeps are removed.
  /// - Returns: the number of places that have everything.
  func copy(_ set: BackupSet, of own: SnapshotName, removes: Bool) -> Int {
    var complete = 0
    for copy in copies where !session.cancellation.isCancelled {
      do throws(BatchError) {
        let (text, verdict) = try copy.copy(set, of: own, session, removes: removes)
        if !common.quiet, !common.json { session.diagnostics.print(text) }
        if verdict.isEmpty {
          complete += 1
          continue
        }
      } catch {
        // What stopped the run is reported by its ending.
        if !session.cancellation.isCancelled { session.fail(error) }
      }
      // With one place, the messages before leave no doubt.
      if copies.count > 1, !session.cancellation.isCancelled {
        session.fail(
          BatchError(.unreadable, "the copy in this place is not complete", path: copy.remote),
          severity: .warning)
      }
    }
    return complete
  }
}
