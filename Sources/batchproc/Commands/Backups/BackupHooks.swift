import BatchCore
import BatchEngine

/// The hooks of a backup, and the file with its metrics.
struct BackupHooks: Sendable {
  let before: Hook?
  let after: Hook?
  let onFailure: Hook?
  let metrics: PathBytes?
  let notification: BackupNotification?
  let set: PathBytes
  let directory: PathBytes
  /// When this machine's last backup of the set succeeded; nil if there is no place for it.
  let success: LastSuccess?
  /// The time limit for all steps after a run, in seconds.
  let longest: Double

  /// - Throws: `UsageError` for a URL of another kind.
  init(
    _ parsed: ParsedCommand, set: PathBytes, directory: PathBytes, successes: StatePlace?
  ) throws(UsageError) {
    success = LastSuccess(of: set, in: directory, folder: successes)
    let limit = Double(parsed.duration(.hookTimeout) ?? 3600)
    func hook(_ id: OptionID) -> Hook? { parsed.bytes(id).map { Hook($0, limit: limit) } }
    before = hook(.before)
    after = hook(.after)
    onFailure = hook(.onFailure)
    metrics = parsed.bytes(.metrics)
    notification = try parsed.bytes(.notify).map { (url) throws(UsageError) in
      try BackupNotification(url, in: parsed.command)
    }
    longest = 2 * (limit + Hook.grace) + BackupNotification.limit + Hook.grace + 10
    self.set = set
    self.directory = directory
  }

  /// The facts about a run for hooks.
  struct Report: Sendable {
    let started = FileStatus.Time.now.seconds
    let stopwatch = Stopwatch()
    /// Empty while unknown.
    var sources: [PathBytes] = []
    var content: BackupContent?
    var counts = Counters.Snapshot()
  }

  /// - Throws: `invalid` when the command fails: then no backup is made; the reason when the run was stopped.
  func runBefore(_ session: Session) throws(BatchError) {
    notify(.start, session)
    guard let before else { return }
    if let failure = run(before, named: "before", status: nil, report: Report(), in: session) {
      try session.cancellation.check()
      throw BatchError(
        .invalid, "the command of --before \(failure): no backup was made", path: before.command)
    }
  }

  /// Runs the steps after a backup; a failed command is reported, but does not change the exit status.
  func runAfter(_ status: Int32, _ report: Report, _ session: Session) {
    for (hook, name) in [(status == 0 ? nil : onFailure, "on-failure"), (after, "after")] {
      guard let hook, let failure = run(hook, named: name, status: status, report: report, in: session) else {
        continue
      }
      session.diagnostics.report(
        BatchError(.invalid, "the command of --\(name) \(failure)", path: hook.command), as: .warning)
    }
    notify(status == 0 ? .success : .failure, session)
    if status == 0 { record(report, session) }
    guard let metrics else { return }
    do throws(BatchError) {
      try self.metrics(status, report, session).write(
        to: metrics, isSynced: session.common.fsync, in: session.context)
    } catch {
      session.diagnostics.report(error, as: .warning)
    }
  }

  /// Records the time of a success on this machine. A failure matters only for metrics, and the set has the time too.
  private func record(_ report: Report, _ session: Session) {
    guard let success, let time = report.content?.header.started.seconds else { return }
    do throws(BatchError) {
      try success.record(time, in: session.context)
    } catch {
      if metrics != nil { session.diagnostics.report(error, as: .warning) }
    }
  }

  /// - Returns: how the command failed; nil when it did not.
  private func run(
    _ hook: Hook, named name: String, status: Int32?, report: Report, in session: Session
  ) -> String? {
    let id = report.content?.header.name.stamp
    let outcome = status.map { $0 == 0 ? "success" : $0 == 3 ? "incomplete" : "failure" }
    var environment = [
      PathBytes("BATCHPROC_HOOK=\(name)"), PathBytes(Array("BATCHPROC_SET=".utf8) + set.bytes),
      PathBytes(Array("BATCHPROC_DIR=".utf8) + directory.bytes),
    ]
    if let status { environment.append(PathBytes("BATCHPROC_STATUS=\(status)")) }
    if let outcome { environment.append(PathBytes("BATCHPROC_OUTCOME=\(outcome)")) }
    if let id { environment.append(PathBytes("BATCHPROC_SNAPSHOT=\(id)")) }
    var line = JSONLine("hook", sequence: 0)
    line.add("hook", name)
    line.add(path: set, as: "set")
    line.add(path: directory, as: "directory")
    if let status { line.add("status", status) }
    if let outcome { line.add("outcome", outcome) }
    if let id { line.add("snapshot", id) }
    if let footer = report.content?.footer {
      line.add("files", footer.files)
      line.add("bytes", footer.bytes)
    }
    line.add("archived", report.counts.done)
    line.add("failed", report.counts.failed)
    line.add("seconds", report.stopwatch.seconds)
    return execute(hook, environment, input: line.finished(), session)
  }

  /// If the message cannot be delivered, that is a warning.
  private func notify(_ event: BackupNotification.Event, _ session: Session) {
    guard let notification else { return }
    guard let failure = execute(notification.hook, input: notification.configuration(of: event), session)
    else { return }
    session.diagnostics.report(
      BatchError(
        .invalid, "the message '\(event.rawValue)' of --notify was not delivered: curl \(failure)",
        remedy: failure == "ended with 127" ? "install curl" : nil), as: .warning)
  }

  /// - Returns: how the command failed; nil when it did not.
  private func execute(
    _ hook: Hook, _ environment: [PathBytes] = [], input: [UInt8], _ session: Session
  ) -> String? {
    let cancellation = session.cancellation
    // A command after a run that was stopped runs all the same.
    let wasCancelled = cancellation.isCancelled
    do throws(BatchError) {
      let ending = try cancellation.activity.whileWaiting { () throws(BatchError) in
        try hook.run(environment: environment, input: input) { !wasCancelled && cancellation.isCancelled }
      }
      switch ending {
      case .exit(0): return nil
      case .exit(let code): return "ended with \(code)"
      case .signal(let number): return "was ended by signal \(number)"
      case .timeout: return "took too long, and was killed"
      }
    } catch {
      guard error.code == .cancelled else { return "could not be run: \(error.message)" }
      return "was ended early: \(session.cancellation.reason?.message ?? error.message)"
    }
  }
}
