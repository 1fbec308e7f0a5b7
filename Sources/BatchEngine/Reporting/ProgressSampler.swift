import Dispatch
import Synchronization

/// Calls a handler during a run: when the counters change, and by a timer.
///
/// Additions within 20 ms become one call, because each call wakes a thread, which takes longer than making a small file. The
/// handler decides by its own clock what it shows.
package final class ProgressSampler: Sendable {
  private static let pause: UInt64 = 20_000_000

  private let queue = DispatchQueue(label: "batchproc.progress")
  /// What was added since the last call.
  private let added = Atomic<UInt>(0)
  /// The time of the last call for additions, in nanoseconds of the dispatch clock.
  private let last = Atomic<UInt64>(0)
  private let isStopped = Atomic(false)
  private let handler: @Sendable (UInt) -> Void
  // It may be used from any thread; its protocol does not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer

  /// - Parameters:
  ///   - interval: milliseconds between two calls of the timer, 1 or more.
  ///   - handler: called on one serial queue with what was added since the last call.
  package init(everyMilliseconds interval: Int, handler: @escaping @Sendable (_ added: UInt) -> Void) {
    self.handler = handler
    timer = DispatchSource.makeTimerSource(queue: queue)
    timer.setEventHandler { handler(0) }
    timer.schedule(
      deadline: .now() + .milliseconds(interval), repeating: .milliseconds(max(1, interval)),
      leeway: .milliseconds(10))
    timer.resume()
  }

  deinit {
    timer.cancel()
  }

  /// Adds files that are done; cheap, from any thread.
  package func add(_ count: Int) {
    guard count > 0, added.wrappingAdd(UInt(count), ordering: .relaxed).oldValue == 0 else { return }
    let next = DispatchTime(uptimeNanoseconds: last.load(ordering: .relaxed) + Self.pause)
    queue.asyncAfter(deadline: max(.now(), next)) { [weak self] in self?.give() }
  }

  private func give() {
    guard !isStopped.load(ordering: .relaxed) else { return }
    last.store(DispatchTime.now().uptimeNanoseconds, ordering: .relaxed)
    handler(added.exchange(0, ordering: .relaxed))
  }

  /// Runs `body` between two calls of the handler.
  package func synchronously(_ body: () -> Void) {
    queue.sync(execute: body)
  }

  /// Ends the calls; the handler does not run after this returns.
  package func stop() {
    timer.cancel()
    queue.sync { isStopped.store(true, ordering: .relaxed) }
  }
}
