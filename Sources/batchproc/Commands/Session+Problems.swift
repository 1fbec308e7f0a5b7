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
}
