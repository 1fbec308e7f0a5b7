import BatchCore
import BatchEngine
import Dispatch
import Synchronization
import func Glibc._exit
import func Glibc.pause

/// Reports a run without progress, and ends it if the options require that.
///
/// A run is cancelled first, and ends by itself if its threads can. A thread that waits in the kernel for a file system cannot:
/// then the process ends here, and the next run removes its temporary files.
final class StallGuard: Sendable {
  /// A last step before the process ends.
  struct LastStep: Sendable {
    /// The time limit in seconds.
    let limit: Double
    let body: @Sendable () -> Void
  }

  /// Seconds to wait for a message.
  private static let patience = 5.0

  private let context: RunContext
  private let reporter: any Reporter
  private let watch: Mutex<StallWatch>
  private let messages = DispatchQueue(label: "batchproc.stall")
  private let lastStep = Mutex<LastStep?>(nil)
  /// Which thread reports how the run ended.
  private let speaker = Atomic<Int>(Speaker.nobody.rawValue)
  /// Which thread does the steps after a run.
  private let closer = Atomic<Int>(Speaker.nobody.rawValue)

  /// Decides who reports the end: when a read returns late, the thread of the run and the guard may end the run at the same
  /// time.
  private enum Speaker: Int {
    case nobody, run, watch
  }

  init(_ common: CommonOptions, _ context: RunContext, _ reporter: any Reporter) {
    self.context = context
    self.reporter = reporter
    watch = Mutex(StallWatch(warning: common.stallWarning, timeout: common.stallTimeout))
  }

  /// Sets a step to do when the process ends because it cannot continue.
  func setLastStep(_ step: LastStep?) { lastStep.withLock { $0 = step } }

  /// Called before the run reports why it ends. Does not return if the guard has reported it and ends the process.
  func claimMessage() { Self.claim(speaker) }

  /// Called before the run does its last steps. Does not return if the guard does them and ends the process.
  func claimEnd() { Self.claim(closer) }

  private static func claim(_ role: borrowing Atomic<Int>) {
    if !take(role, as: .run) { while true { pause() } }
  }

  /// - Returns: whether no other thread has the role.
  private static func take(_ role: borrowing Atomic<Int>, as owner: Speaker) -> Bool {
    let (isFirst, before) = role.compareExchange(
      expected: Speaker.nobody.rawValue, desired: owner.rawValue, ordering: .acquiringAndReleasing)
    return isFirst || before == owner.rawValue
  }

  /// Called about once a second, on a thread that the run does not need.
  func look() {
    let activity = context.cancellation.activity
    let isHeld = activity.isWaiting || context.concurrency.isSuspended
    let finding = watch.withLock {
      $0.look(at: FilesInProgress.milliseconds(), hasMoved: activity.takeNote(), isHeld: isHeld)
    }
    switch finding {
    case .stalled(let time): tell(time)
    case .overdue(let time, let isTold):
      if !isTold { tell(time) }
      cancel(time)
    case .stuck: endProcess()
    case nil: break
    }
  }

  /// A blocked thread may hold the lock of the reporter, so messages are not written on the checking thread.
  private func tell(_ time: Int) {
    let (reporter, files) = (reporter, context.filesInProgress.files)
    messages.async { reporter.stalled(at: files, seconds: Double(time) / 1000) }
  }

  private func cancel(_ time: Int) {
    let text = DurationText.text(seconds: Double(time) / 1000)
    let error = BatchError(
      .unreadable, "nothing was read for \(text): the run was ended",
      path: context.filesInProgress.files.first?.path, remedy: "see --stall-timeout")
    let cancellation = context.cancellation
    messages.async { cancellation.cancel(error) }
  }

  private func endProcess() {
    guard Self.take(closer, as: .watch) else { return }
    let reason =
      context.cancellation.reason ?? BatchError(.unreadable, "nothing was read, and the run does not end")
    let (reporter, counters) = (reporter, context.counters)
    let isReported =
      !Self.take(speaker, as: .watch) || Self.does(within: Self.patience) { reporter.fatal(reason) }
    if !isReported {
      StandardStreams.write(Array("batchproc: nothing was read, and the run does not end\n".utf8))
    }
    if let step = lastStep.withLock({ $0 }) { _ = Self.does(within: step.limit, step.body) }
    if isReported { _ = Self.does(within: Self.patience) { reporter.end(counters.snapshot) } }
    // The kernel keeps descriptors and their locks until the last thread has left it.
    SetLock.releaseAll()
    _exit(ExitStatus.fatal.rawValue)
  }

  /// Runs `body` on another queue.
  ///
  /// - Returns: whether it ended within the limit in seconds.
  private static func does(within limit: Double, _ body: @escaping @Sendable () -> Void) -> Bool {
    let group = DispatchGroup()
    DispatchQueue(label: "batchproc.stall.end").async(group: group, execute: body)
    return group.wait(timeout: .now() + limit) == .success
  }

  /// Ends the process when the run waits for threads that cannot be started. Started before any other code needs a thread.
  func watchThreads() throws(BatchError) -> ThreadWatch {
    let counters = context.counters
    return try ThreadWatch {
      let counts = counters.snapshot
      return counts.byteCount &+ Int64(counts.done + counts.failed + counts.skipped)
    } giveUp: {
      // Written directly: code that waits for a thread may hold the locks of the reporter.
      let message =
        "batchproc: the run waits for threads, and no more can be started; raise `ulimit -u` or pids.max of the control group\n"
      StandardStreams.write(Array(message.utf8))
      StagingArea.shared.removeAll()
      _exit(ExitStatus.fatal.rawValue)
    } look: {
      self.look()
    }
  }
}
