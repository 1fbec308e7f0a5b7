import Dispatch
import Synchronization

/// Suspends a run while the machine's load average is above a limit (`--max-load`).
///
/// What runs goes on; nothing begins until the load has fallen below the limit.
package final class LoadGovernor: Sendable {
  private let limit: Double
  private let load: @Sendable () -> Double?
  private let suspend: @Sendable (Bool) -> Void
  private let isSuspended = Mutex(false)
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// - Parameters:
  ///   - limit: the load average above which nothing begins; more than 0.
  ///   - load: the average of the last minute, nil when it cannot be known.
  ///   - suspend: called with true and false in turn.
  package init(
    limit: Double, load: @escaping @Sendable () -> Double?, suspend: @escaping @Sendable (Bool) -> Void
  ) {
    self.limit = limit
    self.load = load
    self.suspend = suspend
    timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "batchproc.load"))
    timer.setEventHandler { [weak self] in self?.sample() }
    // Active from the beginning, with nothing due yet: libdispatch traps when an inactive source is let go of.
    timer.schedule(deadline: .distantFuture)
    timer.activate()
  }

  deinit {
    timer.cancel()
  }

  /// Looks at once and then every few seconds, which is how often the kernel renews the average.
  package func start() {
    sample()
    timer.schedule(deadline: .now() + 5, repeating: 5, leeway: .seconds(1))
  }

  /// Looks once.
  package func sample() {
    guard let load = load() else { return }
    let isTooHigh = load > limit
    let isChange = isSuspended.withLock { current in
      defer { current = isTooHigh }
      return current != isTooHigh
    }
    if isChange { suspend(isTooHigh) }
  }
}
