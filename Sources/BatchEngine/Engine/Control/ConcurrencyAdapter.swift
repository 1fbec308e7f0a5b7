import Dispatch
import Glibc
import Synchronization

/// Has an ``AdaptiveConcurrency`` move the number of operations of a run while it goes on.
///
/// While somebody has fixed or capped the number, or the run is suspended, nothing is moved; afterwards it goes on from the number
/// that holds then.
final class ConcurrencyAdapter: Sendable {
  private static let interval = DispatchTimeInterval.milliseconds(10)
  /// Of so many turns of the timer one is used while there is nothing to be found out.
  private static let turnsOfRest = 3
  private let context: RunContext
  private let start = ContinuousClock.now
  private let controller: Mutex<AdaptiveConcurrency>
  private let turns = Atomic<Int>(0)
  private let queue = DispatchQueue(label: "batchproc.adapt")
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// Begins at once; nil where the options of the run keep its number.
  init?(_ context: RunContext) {
    guard let most = context.options.mostConcurrency, most > 1 else { return nil }
    self.context = context
    controller = Mutex(
      AdaptiveConcurrency(
        start: context.concurrency.current, ceiling: most, processors: context.options.processors,
        isKnown: context.options.isConcurrencyKnown))
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { [weak self] in self?.look() }
    timer.schedule(deadline: .now() + Self.interval, repeating: Self.interval, leeway: .milliseconds(1))
    timer.resume()
  }

  /// When this returns nothing is moved any more.
  func stop() {
    timer.cancel()
    queue.sync {}
  }

  private func look() {
    let turn = turns.add(1, ordering: .relaxed).newValue
    guard turn % Self.turnsOfRest == 0 || !controller.withLock({ $0.isSettled }) else { return }
    let concurrency = context.concurrency
    let reading = read()
    let change = controller.withLock { controller -> ConcurrencyChange? in
      let old = concurrency.current
      guard !concurrency.isFixed else { return nil }
      if controller.level != old { controller = adapting(from: old, controller.ceiling) }
      guard let reason = controller.take(reading) else { return nil }
      let wanted = controller.level
      let new = context.affordable(wanted)
      if new != wanted { controller = adapting(from: new, new) }
      guard new != old else { return nil }
      let speed = controller.measured
      return ConcurrencyChange(
        from: old, to: new, reason, filesPerSecond: speed.files, bytesPerSecond: speed.bytes)
    }
    guard let change else { return }
    concurrency.set(change.new)
    context.report(change)
  }

  private func adapting(from level: Int, _ ceiling: Int) -> AdaptiveConcurrency {
    AdaptiveConcurrency(
      start: level, ceiling: ceiling, processors: context.options.processors, isKnown: true)
  }

  private func read() -> AdaptiveConcurrency.Reading {
    let progress = context.counters.progress
    let concurrency = context.concurrency
    return AdaptiveConcurrency.Reading(
      time: ContinuousClock.now - start, files: progress.files, bytes: progress.bytes,
      processorTime: ProcessorTime.computed(), waitingTime: ProcessorTime.waited(),
      running: concurrency.isSuspended ? 0 : concurrency.runningCount, hasMore: concurrency.hasMore,
      waiting: max(0, concurrency.unfinishedCount - concurrency.runningCount))
  }
}
