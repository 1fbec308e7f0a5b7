import CLinux
import Glibc
import Synchronization

/// Starts and watches the children of a run: one thread for all of them.
///
/// The kernel kills each child when the thread that started it ends, so this is one thread, for as long as the runner lives. A
/// second process, the guardian, kills what the children have started when this process dies.
package final class ChildRunner: Sendable {
  /// The most descriptors that a child needs: the end of the process and two pipes; a child that has ended may hold its pipes while
  /// the next one runs.
  package static let descriptorsOfChild = 5
  /// The most descriptors besides those of the children: the events, the bell, /dev/null, the line to the guardian, the file for
  /// output, and two ends of pipes while a child is started.
  package static let descriptors = 7

  let site: ChildSite
  private let concurrency: ConcurrencyLimit
  private let cancellation: Cancellation
  private let count = Count()
  private let listeners: (concurrency: Int, cancellation: Int)
  private let thread: Mutex<pthread_t?>

  private final class Count: Sendable {
    let running = Atomic<Int>(0)
  }

  /// What the thread gets; it makes the loop, which only it uses.
  private final class Body: Sendable {
    let run: @Sendable () -> Void

    init(_ run: @escaping @Sendable () -> Void) {
      self.run = run
    }
  }

  /// - Parameters:
  ///   - concurrency: how many children may run at once, and whether the start of further ones is suspended.
  ///   - cancellation: ends all children.
  ///   - liveErrors: receives standard error at once, in whole lines, with the tag of the child, on the thread of the runner. Nil
  ///     keeps standard error in the ending.
  /// - Throws: `exhausted` when the system has no room for a thread and a process.
  package convenience init(
    concurrency: ConcurrencyLimit, cancellation: Cancellation, captures: CaptureStore,
    liveErrors: (@Sendable (_ tag: Int, _ lines: [UInt8]) -> Void)? = nil
  ) throws(BatchError) {
    try self.init(
      concurrency: concurrency, cancellation: cancellation, captures: captures, liveErrors: liveErrors,
      times: ChildSite.Times())
  }

  /// - Parameter hasPidfd: false for kernels whose descriptors do not report the end of a process.
  init(
    concurrency: ConcurrencyLimit, cancellation: Cancellation, captures: CaptureStore,
    liveErrors: (@Sendable (_ tag: Int, _ lines: [UInt8]) -> Void)? = nil, times: ChildSite.Times,
    hasPidfd: Bool = true
  ) throws(BatchError) {
    clinux_keep_child_status()
    let site = try ChildSite(captures: captures, times: times, hasPidfd: hasPidfd, liveErrors: liveErrors)
    let count = count
    thread = Mutex(
      try Self.startThread {
        ChildLoop(site, concurrency, cancellation) { count.running.store($0, ordering: .relaxed) }.run()
      })
    (self.site, self.concurrency, self.cancellation) = (site, concurrency, cancellation)
    listeners = (
      concurrency.onChange { site.requests.ask() }, cancellation.onCancel { site.requests.ask() }
    )
  }

  deinit { stop() }

  /// How many processes run.
  package var running: Int { count.running.load(ordering: .relaxed) }

  /// Adds a child to those that wait. They start in this order.
  ///
  /// - Parameters:
  ///   - tag: names the child for the receiver of its standard error.
  ///   - ended: called once on the thread of the runner, with a failure if the child could not be started. It may add further
  ///     children, and must not take long. After ``stop()`` it is called at once.
  package func start(
    _ command: ChildCommand, tag: Int, ended: @escaping @Sendable (Result<ChildEnding, BatchError>) -> Void
  ) {
    let child = ChildOperation(command, tag: tag, at: site, ended: ended)
    if !site.requests.ask({ $0.children.append(child) }) { child.giveUp() }
  }

  /// Ends all children, and waits for them and for the thread. Called again, or in a callback of the runner, it does not wait.
  package func stop() {
    concurrency.forget(listeners.concurrency)
    cancellation.forget(listeners.cancellation)
    site.requests.ask { $0.isStopping = true }
    let joined = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let joined else { return }
    if pthread_equal(joined, pthread_self()) != 0 {
      pthread_detach(joined)
    } else {
      pthread_join(joined, nil)
    }
  }

  private static func startThread(_ run: @escaping @Sendable () -> Void) throws(BatchError) -> pthread_t {
    let body = Unmanaged.passRetained(Body(run))
    var thread = pthread_t()
    // Other threads handle the signals of the process.
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_BLOCK, &all, &before)
    defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
    let failed = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, body.toOpaque())
    guard failed == 0 else {
      body.release()
      throw .start("start a thread", errno: failed)
    }
    return thread
  }
}
