import Synchronization

/// Counts how many threads are in at once, and the greatest count so far.
package final class Crowd: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  package init() {}

  package var most: Int { counts.withLock { $0.most } }

  package func enter(_ count: Int = 1) {
    counts.withLock { counts in
      counts.now += count
      counts.most = max(counts.most, counts.now)
    }
  }

  package func leave(_ count: Int = 1) { counts.withLock { $0.now -= count } }
}
