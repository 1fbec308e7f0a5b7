import BatchEngine
import Synchronization

/// Asks a backup to end early with what it has, by a signal or when its time has passed.
package final class StopRequest: Sendable {
  private let flag = Atomic<Bool>(false)

  package init() {}

  package var isMade: Bool { flag.load(ordering: .acquiring) }

  /// May be called on any thread, and more than once.
  package func make() { flag.store(true, ordering: .releasing) }
}

/// Where a backup ends before it has walked all sources: after a number of bytes, so that what was done is kept, or when it is asked
/// to stop.
final class RunCut: Sendable {
  private let limit: UInt64?
  private let deadline: ContinuousClock.Instant?
  private let stop: StopRequest?
  private let place = Mutex<ReachedPath?>(nil)

  /// - Parameter limit: in bytes of the files that are read; nil for none.
  init(after limit: UInt64?, _ time: Duration?, _ stop: StopRequest?) {
    (self.limit, self.stop) = (limit, stop)
    deadline = time.map { ContinuousClock.now + $0 }
  }

  /// - Parameter bytes: the sizes of the files so far.
  func isDue(after bytes: UInt64) -> Bool {
    if let limit, bytes >= limit { return true }
    if let deadline, bytes > 0, ContinuousClock.now >= deadline { return true }
    return stop?.isMade ?? false
  }

  /// Records the last path whose row is in the snapshot. Called by the source.
  func note(_ reached: ReachedPath) { place.withLock { $0 = reached } }

  /// Nil if the run was not cut.
  var reached: ReachedPath? { place.withLock { $0 } }

  /// Whether it was cut, and is asked to stop by now: then the archive is not read back.
  var isStop: Bool { reached != nil && stop?.isMade == true }
}
