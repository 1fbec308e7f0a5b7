import Dispatch

/// Calls a handler during a run: when the counters change, and by a timer.
///
/// A data-add source merges counts: all additions between two blocks of the queue become one call. After each call the source is
/// suspended for a moment, in which it only adds: a call wakes a thread, which takes longer than making a small file. The handler
/// decides by its own clock what it shows.
package final class ProgressSampler: Sendable {
  private static let pause = DispatchTimeInterval.milliseconds(20)

  private let queue = DispatchQueue(label: "batchproc.progress")
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let timer: any DispatchSourceTimer
  private nonisolated(unsafe) let additions: any DispatchSourceUserDataAdd

  /// - Parameters:
  ///   - interval: milliseconds between two calls of the timer, 1 or more.
  ///   - handler: called on one serial queue with what was added since the last call.
  package init(everyMilliseconds interval: Int, handler: @escaping @Sendable (_ added: UInt) -> Void) {
    timer = DispatchSource.makeTimerSource(queue: queue)
    additions = DispatchSource.makeUserDataAddSource(queue: queue)
    nonisolated(unsafe) let additions = additions
    additions.setEventHandler { [queue] in
      handler(additions.data)
      additions.suspend()
      // The block keeps the source: one that is suspended must not be released.
      queue.asyncAfter(deadline: .now() + Self.pause) { additions.resume() }
    }
    timer.setEventHandler { handler(0) }
    timer.schedule(
      deadline: .now() + .milliseconds(interval), repeating: .milliseconds(max(1, interval)),
      leeway: .milliseconds(10))
    additions.resume()
    timer.resume()
  }

  deinit {
    timer.cancel()
    additions.cancel()
  }

  /// Adds files that are done; cheap, from any thread.
  package func add(_ count: Int) {
    additions.add(data: UInt(max(0, count)))
  }

  /// Runs `body` between two calls of the handler.
  package func synchronously(_ body: () -> Void) {
    queue.sync(execute: body)
  }

  /// Ends the calls; the handler does not run after this returns.
  package func stop() {
    timer.cancel()
    additions.cancel()
    queue.sync {}
  }
}
