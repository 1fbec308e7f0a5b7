import BatchEngine

/// Counts and tells what became of outputs outside of the operation that their source belongs to.
struct OutputAccount: Sendable {
  let counters: Counters
  let observer: any RunObserver
  let policy: EventPolicy

  func done() { counters.addDone() }

  func skipped() { counters.addSkipped() }

  func failed(_ problem: Problem) {
    // A file that changed has no output: whatever the policy, it is not done.
    let severity = problem.event == .changed ? .failure : policy.severity(of: problem.event)
    if severity == .failure { counters.addFailed() } else { counters.addSkipped(problem.kind) }
    observer.met(problem, severity: severity)
  }

  /// Tells what became of a file that many operations read.
  ///
  /// - Parameters:
  ///   - failure: why parts of it are zeros.
  ///   - isStable: whether it was the same file all the time.
  func tell(of path: PathBytes, failure: BatchError?, isStable: Bool) {
    if let failure {
      let message = "could not be read wholly, and is filled up with zeros: \(failure.message)"
      counters.addFailed()
      observer.met(
        Problem(.unreadable, BatchError(.unreadable, message, path: path, errno: failure.errno)),
        severity: .failure)
      return
    }
    guard !isStable else { return done() }
    let severity = policy.severity(of: .changed)
    if severity == .failure {
      counters.addFailed()
    } else {
      counters.addChanged()
      counters.addDone()
    }
    observer.met(
      Problem(.changed, BatchError(.changed, "changed while it was read", path: path)), severity: severity)
  }

  /// Tells of a source whose output cannot get its name, or that cannot be removed.
  func spoilt(_ error: BatchError) {
    counters.addFailed()
    observer.met(Problem(.unreadable, error), severity: .failure)
  }

  /// Tells of a source that counts as done and cannot be removed.
  func withdrawn(_ error: BatchError) {
    counters.withdrawDone()
    observer.met(Problem(.unreadable, error), severity: .failure)
  }

  /// Tells of something that changes no count.
  func warn(_ error: BatchError) {
    observer.met(Problem(.unreadable, error), severity: .warning)
  }
}
