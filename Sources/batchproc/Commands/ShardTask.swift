import BatchCore
import BatchEngine
import Synchronization

/// One shard of a plan, processed by a command: its entries, its lock and its result.
///
/// It observes the run: problems are passed on to the reporter, and written into the result too.
final class ShardTask: RunObserver {
  /// How many files are open during the run: the plan, its entries, the lock and the result.
  static let descriptors = 4

  let plan: ShardPlan
  let shard: ShardPlan.Shard
  /// The command as it is stored in the plan.
  let planned: ParsedCommand
  private let folder: PlanFolder
  private let node: String
  private let isForced: Bool
  private let reporter = Mutex<(any RunObserver)?>(nil)
  private let result = Mutex<ShardResultWriter?>(nil)
  /// Why a problem could not be written into the result.
  private let failure = Mutex<BatchError?>(nil)

  init(
    _ plan: ShardPlan, _ shard: ShardPlan.Shard, of planned: ParsedCommand, in folder: PlanFolder,
    isForced: Bool, environment: Environment
  ) {
    self.plan = plan
    self.shard = shard
    self.planned = planned
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

  /// The verb of the summary: `shard 3: hashed`.
  func verb(_ verb: String) -> String { "shard \(shard.index): \(verb)" }

  /// Runs the call over the shard, unless it has a result.
  ///
  /// - Parameters:
  ///   - record: writes the rows of a report into the result.
  ///   - finish: reports the outcome, and returns how the command ends.
  func run<C: Call>(
    _ call: C, in session: Session,
    record: @escaping @Sendable (C.Report, ShardResultWriter) throws(BatchError) -> Void,
    finish: (CallOutcome<C.Result>) -> Ending
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
      let player = try PlanPlayer(
        shard, in: folder, checksFolders: call.division?.checksFolders ?? false, devices, context)
      let result = try ShardResultWriter(
        plan, shard: shard.index, in: folder, isReplacing: isReplacing,
        isSynced: session.common.fsync, context)
      self.result.withLock { $0 = result }
      do throws(BatchError) {
        let watch = Stopwatch()
        let work = ShardWork(
          player, devices, result, of: shard, before: plan.entries(before: shard), operands: planned.operands)
        let outcome = try session.run(call, .shard(work)) { (report) throws(BatchError) in
          try record(report, result)
          lock.note(context.counters.snapshot, error: nil)
        }
        let ending = finish(outcome)
        if let failure = failure.withLock({ $0 }) { throw failure }
        return try complete(
          session, result: result, lock: lock, outcome: outcome, given: ending, seconds: watch.seconds)
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
  private func complete<Result>(
    _ session: Session, result: ShardResultWriter, lock: ShardLock, outcome: CallOutcome<Result>,
    given: Ending, seconds: Double
  ) throws(BatchError) -> Ending {
    let counts = session.context.counters.snapshot
    var ending = given
    // Unreadable files are named in the result; only the merge knows whether there were others.
    if outcome.verdict.contains(.nothing), !outcome.verdict.contains(.incomplete) {
      ending = .exit(ExitStatus(outcome.verdict.subtracting(.nothing).union(.someFailed)))
    }
    guard let findings = outcome.result?.findings, case .exit(let status) = ending,
      [.success, .someFailed, .differences].contains(status)
    else {
      result.discard()
      lock.note(
        counts, error: outcome.summary.stopped?.message ?? "an output is incomplete", isForced: true)
      return ending
    }
    var stored = ShardOutcome(counts)
    stored.needless = counts.needless
    stored.findings = findings
    stored.milliseconds = Int64(seconds * 1000)
    stored.node = node
    stored.status = status.rawValue
    do throws(BatchError) {
      try result.finish(stored)
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
    if !session.common.quiet { session.diagnostics.print("batchproc: shard \(shard.index): done already") }
    return .exit(.success)
  }
}
