import CLinux
import Dispatch
import Glibc

/// Detects that a run cannot continue because the system cannot start another thread.
///
/// Dispatch then retries once a second without end, on the thread that needs another one. The retry succeeds if other programs
/// end threads; otherwise this watch must end the run.
package final class ThreadWatch: Sendable {
  /// Decides after how many checks without progress a run is given up. Idle threads of Dispatch end after five seconds, so no
  /// idle thread is left after ten checks, about one a second.
  package struct Patience: Sendable {
    private static let looks = 10
    /// The waiting thread is awake for a moment once a second, as the watch is, and longer on a busy machine. So a later check
    /// looks for it more than once, since the count begins again when it is not found.
    private static let mostTries = 5
    private var progress = Int64.min
    private var failures = 0

    package init() {}

    /// How often the next check looks for a waiting thread, a tenth of a second apart.
    var tries: Int { failures > 0 ? Self.mostTries : 1 }

    /// - Parameters:
    ///   - progress: any number that changes while the run makes progress.
    ///   - isShort: whether a thread waits for another one that cannot be started; evaluated only if there was no progress.
    /// - Returns: whether to give up.
    package mutating func isOver(progress: Int64, isShort: @autoclosure () -> Bool) -> Bool {
      failures = progress == self.progress && isShort() ? failures + 1 : 0
      self.progress = progress
      return failures >= Self.looks
    }
  }

  private final class Watcher: Sendable {
    let end = DispatchSemaphore(value: 0)
    let progress: @Sendable () -> Int64
    let giveUp: @Sendable () -> Void
    let look: @Sendable () -> Void

    init(
      _ progress: @escaping @Sendable () -> Int64, _ giveUp: @escaping @Sendable () -> Void,
      _ look: @escaping @Sendable () -> Void
    ) {
      self.progress = progress
      self.giveUp = giveUp
      self.look = look
    }

    func watch() {
      var patience = Patience()
      while end.wait(timeout: .now() + 1) == .timedOut {
        let tries = patience.tries
        let isOver = patience.isOver(
          progress: progress(),
          isShort: ThreadWatch.findsSleeper(tries: tries) && ThreadLimit.startable(upTo: 1) == 0)
        if isOver { return giveUp() }
        look()
      }
    }
  }

  private let watcher: Watcher

  /// Starts the watch on its own thread.
  ///
  /// - Parameters:
  ///   - progress: any number that changes while the run makes progress.
  ///   - giveUp: called once, on that thread, if the run cannot continue; it ends the process.
  ///   - look: called about once a second on that thread; it must not take a lock that a thread of the run may hold.
  /// - Throws: `exhausted` when not even this thread can be started.
  package init(
    progress: @escaping @Sendable () -> Int64, giveUp: @escaping @Sendable () -> Void,
    look: @escaping @Sendable () -> Void = {}
  ) throws(BatchError) {
    watcher = Watcher(progress, giveUp, look)
    let argument = Unmanaged.passRetained(watcher)
    var thread = pthread_t()
    // Dispatch handles signals on its own thread, so this thread blocks them.
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let failed = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Watcher>.fromOpaque(argument).takeRetainedValue().watch() }
        return nil
      }, argument.toOpaque())
    guard failed == 0 else {
      argument.release()
      throw BatchError.syscall("start a thread", errno: failed).recoded(.exhausted)
    }
    pthread_detach(thread)
  }

  deinit { watcher.end.signal() }

  /// Whether a thread of the process is in sleep(3), as a Dispatch thread is before it retries.
  private static func findsSleeper(tries: Int) -> Bool {
    let wanted = Array("\(clinux_sleep_call()) ".utf8)
    return (0..<tries).contains { number in
      if number > 0 { usleep(100_000) }
      return ThreadFiles.contents(of: "syscall").contains { $0.starts(with: wanted) }
    }
  }
}
