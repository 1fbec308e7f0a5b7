import BatchCore
import BatchEngine

/// What a command reports beside its results.
extension Session {
  /// Reports a path that could not be processed, or that is not as it should be.
  func fail(_ error: BatchError, as event: Problem.Event = .unreadable, severity: Severity = .failure) {
    reporter.met(Problem(event, error), severity: severity)
  }

  /// Reports an archive that a snapshot needs and that is missing or damaged.
  func fail(_ archive: PathBytes, neededBy snapshot: String) {
    fail(
      BatchError(
        .malformed, "is missing or has the wrong size, and the snapshot \(snapshot) needs it", path: archive))
  }

  /// Reports a remark about the input, without effect on the exit status; not with `--quiet` and `--json`.
  func warn(_ error: BatchError, as severity: Diagnostics.Severity = .warning) {
    if !common.quiet, !common.json { diagnostics.report(error, as: severity) }
  }

  /// Reports remarks about an archive, even with `--quiet`: a part of the archive may be left out.
  func warn(of archive: PathBytes, _ remarks: [String]) {
    for remark in remarks { fail(BatchError(.malformed, remark, path: archive), severity: .warning) }
  }

  // MARK: Snapshots

  /// Reports since when the snapshots of series have failures.
  func warn(ofFailures series: [[Snapshot]]) {
    for snapshots in series {
      guard let first = snapshots.firstWithFailures else { continue }
      warn(ofFailuresSince: first.label, of: first.header.origin)
    }
  }

  func warn(ofFailuresSince snapshot: String, of origin: String) {
    warn(
      BatchError(
        .special,
        "the snapshots of \(origin) have failures since \(snapshot): a run with failures removes no old snapshot",
        remedy: "use --exclude for files that can never be read, or --on unreadable=warn"))
  }

  /// Names archives without a manifest, even with `--quiet`: probably a snapshot was lost.
  func warn(ofUnlisted archives: [SnapshotName], in directory: PathBytes) {
    for archive in archives {
      fail(
        BatchError(
          .missing, "has no manifest, and no snapshot needs it",
          path: directory.appending(archive.archive.bytes),
          remedy: .pruneUnlisted), severity: .warning)
    }
  }

  /// Names damaged files that a repair has replaced and kept.
  func warn(ofReplaced files: [PathBytes], in directory: PathBytes) {
    for file in files {
      warn(
        BatchError(
          .special, "is a damaged file that a repair has replaced; 'prune' removes it",
          path: directory.appending(file.bytes)), as: .note)
    }
  }

  /// Says that recovery data of a damaged set are there.
  func adviseRepair(of set: BackupSet) {
    guard !common.quiet, !common.json, set.hasParity(in: context) else { return }
    let place = TerminalText.string(set.directory.bytes)
    diagnostics.report("recovery data are there: 'batchproc repair \(place)' can repair damage", as: .note)
  }

  /// Names snapshots that are kept since their times are in the future.
  func warn(ofFuture snapshots: [Snapshot]) {
    for snapshot in snapshots {
      warn(
        BatchError(
          .special, "the snapshot \(snapshot.label) is in the future: it is kept, and no rule counts it",
          remedy: "check the clock; if the snapshot is not needed, remove its manifest"))
    }
  }
}
