import BatchEngine
import Synchronization
import var Glibc.SIGHUP
import var Glibc.SIGINT
import var Glibc.SIGQUIT
import var Glibc.SIGTERM
import var Glibc.SIGUSR1

/// The signals that a command gets: the first one that ends processes stops the run, the second one ends the process.
final class SessionSignals: Sendable {
  private let sources = Mutex<SignalSources?>(nil)
  private let first = Mutex<Int32?>(nil)
  private let cancellation: Cancellation
  /// Asks the run to end early with what it has, in place of the first signal; nil if it can only be cancelled.
  private let stop = Mutex<(@Sendable () -> Void)?>(nil)

  /// - Parameter show: shows the progress, for SIGUSR1.
  init(_ cancellation: Cancellation, show: @escaping @Sendable () -> Void) {
    self.cancellation = cancellation
    sources.withLock {
      $0 = SignalSources([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1]) { [weak self] number in
        if number == SIGUSR1 { show() } else { self?.received(number) }
      }
    }
  }

  /// The ending of a run that a signal stopped; nil without a signal.
  var ending: Ending? {
    // HUP ends a run like TERM, so the parent only ever sees INT or TERM.
    first.withLock { $0 }.map { .signal($0 == SIGHUP ? SIGTERM : $0) }
  }

  private func received(_ number: Int32) {
    let isFirst = first.withLock { first in
      defer { first = first ?? number }
      return first == nil
    }
    guard isFirst else {
      StagingArea.shared.removeAll()
      SignalSources.reraise(number == SIGHUP ? SIGTERM : number)
      return
    }
    if let stop = stop.withLock({ $0 }) { return stop() }
    cancellation.cancel(BatchError(.cancelled, "stopped by a signal"), signal: number)
  }

  /// - Parameter stop: called on any thread in place of a cancellation; nil for a cancellation.
  func setStop(_ stop: (@Sendable () -> Void)?) { self.stop.withLock { $0 = stop } }
}
