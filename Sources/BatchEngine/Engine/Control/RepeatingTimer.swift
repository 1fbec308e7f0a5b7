import Dispatch

/// Calls a function on a queue at an interval, from the first ``schedule(every:leeway:)`` until ``stop()`` or the end of this object.
package final class RepeatingTimer: Sendable {
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let source: any DispatchSourceTimer

  package init(on queue: DispatchQueue) {
    source = DispatchSource.makeTimerSource(queue: queue)
    // Activated now, without a deadline: libdispatch traps when an inactive source is released.
    source.schedule(deadline: .distantFuture)
    source.activate()
  }

  deinit { source.cancel() }

  /// Sets the function, once and before it is scheduled.
  package func handle(_ body: @escaping @Sendable () -> Void) { source.setEventHandler(handler: body) }

  /// Calls the function after each interval from now on, in place of the interval before.
  package func schedule(every interval: DispatchTimeInterval, leeway: DispatchTimeInterval = .milliseconds(1))
  {
    source.schedule(deadline: .now() + interval, repeating: interval, leeway: leeway)
  }

  package func stop() { source.cancel() }
}
