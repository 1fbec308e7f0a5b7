import BatchCore
import BatchEngine
import Synchronization

/// One shard of a plan, processed by a command: its entries, its lock and its result.
///
/// It observes the run: problems are passed on to the reporter, and written into the result too.
final class ShardTask: RunObserver {
  /// The means with which the command processes the shard.
  struct Work {
    let player: PlanPlayer
    let devices: PlannedDevices
    let result: ShardResultWriter
    let lock: ShardLock
  }

  struct Processed {
    let summary: RunSummary
    let ending: Ending
    /// Other counts of the command.
    var findings: [String: Int] = [:]
  }

  let plan: ShardPlan
  let shard: ShardPlan.Shard
  private let folder: PlanFolder
  private let node: String
  private let isForced: Bool
  private let reporter = Mutex<(any RunObserver)?>(nil)
  private let result = Mutex<ShardResultWriter?>(nil)
  /// Why a problem could not be written into the result.
  private let failure = Mutex<BatchError?>(nil)

  init(
    _ plan: ShardPlan, _ shard: ShardPlan.Shard, in folder: PlanFolder, isForced: Bool,
    environment: Environment
  ) {
    self.plan = plan
    self.shard = shard
    self.folder = folder
    self.isForced = isForced
    node = environment("SLURMD_NODENAME").flatMap(\.text) ?? HostName.current
  }

  /// The observer for the session, before its reporter.
  func recording(_ reporter: any RunObserver) -> any RunObserver {
    self.reporter.withLock { $0 = reporter }
    return self
  }

  func met(_ problem: Problem, severity: Severity) {
    reporter.withLock { $0 }?.met(problem, severity: severity)
    do throws(BatchError) {
      try result.withLock { $0 }?.write(problem, severity: severity)
    } catch {
      failure.withLock { $0 = error }
    }
  }

  func changed(_ change: ConcurrencyChange) { reporter.withLock { $0 }?.changed(change) }

  var count: ResultOperation<Counters.Snapshot> {
    CountingWalk.known(shard.entries, bytes: UInt64(clamping: shard.bytes))
  }

  /// Processes the shard, unless it has a result.
  ///
  /// - Parameters:
  ///   - checksFolders: whether folders are checked for added or removed entries.
  ///   - process: runs the job; returns the result of the run and how the command ends.
  func run(
    _ session: Session, checksFolders: Bool,
    _ process: (sending Work) throws(BatchError) -> Processed
  ) throws(BatchError) -> Ending {
    var isReplacing = isForced
    if !isForced {
      do throws(BatchError) {
        if try isDone(session) { return doneAlready(session) }
      } catch {
        guard error.code == .malformed else { throw error }
        session.warn(error)
        isReplacing = true
      }
    }
    let context = session.context
    let lock = try ShardLock(shard.index, in: folder, node: node)
    do throws(BatchError) {
      // The task that held the lock may have ended meanwhile.
      if !isReplacing, try isDone(session) {
        lock.finish(by: context.commits)
        return doneAlready(session)
      }
      try WorkingFolder.enter(plan.workingFolder)
      let devices = PlannedDevices()
      let player = try PlanPlayer(shard, in: folder, checksFolders: checksFolders, devices, context)
      let result = try ShardResultWriter(
        plan, shard: shard.index, in: folder, isReplacing: isReplacing,
        isSynced: session.common.fsync, context)
      self.result.withLock { $0 = result }
      do throws(BatchError) {
        let watch = Stopwatch()
        let processed = try process(
          Work(player: player, devices: devices, result: result, lock: lock))
        if let failure = failure.withLock({ $0 }) { throw failure }
        return try finish(session, result, lock, processed, seconds: watch.seconds)
      } catch {
        result.discard()
        throw error
      }
    } catch {
      lock.note(context.counters.snapshot, error: error.message, isForced: true)
      throw error
    }
  }

  /// Renames the result to its final name, if the run reached its end.
  private func finish(
    _ session: Session, _ result: ShardResultWriter, _ lock: ShardLock, _ processed: Processed,
    seconds: Double
  ) throws(BatchError) -> Ending {
    let counts = session.context.counters.snapshot
    var outcome = ShardOutcome(counts)
    let summary = processed.summary
    var ending = processed.ending
    // Unreadable files are named in the result; only the merge knows whether there were others.
    if case .exit(.fatal) = ending, ExitStatus(counts) == .fatal { ending = .exit(.someFailed) }
    guard summary.stopped == nil, case .exit(let status) = ending,
      [.success, .someFailed, .differences].contains(status)
    else {
      result.discard()
      lock.note(
        counts, error: summary.stopped?.message ?? "an output is incomplete", isForced: true)
      return ending
    }
    outcome.needless = counts.needless
    outcome.findings = processed.findings
    outcome.milliseconds = Int64(seconds * 1000)
    outcome.node = node
    outcome.status = status.rawValue
    do throws(BatchError) {
      try result.finish(outcome)
    } catch {
      // If locks do not work, another task may have been faster; then its result is used.
      guard error.code == .invalid, try isDone(session) else { throw error }
      lock.finish(by: session.context.commits)
      return doneAlready(session)
    }
    lock.finish(by: session.context.commits)
    return ending
  }

  private func isDone(_ session: Session) throws(BatchError) -> Bool {
    let found = try ShardResultReader.open(shard.index, of: plan, in: folder)
    try found?.verify(session.cancellation)
    return found != nil
  }

  private func doneAlready(_ session: Session) -> Ending {
    if !session.common.quiet {
      session.diagnostics.print("batchproc: shard \(shard.index): done already")
    }
    return .exit(.success)
  }
}
