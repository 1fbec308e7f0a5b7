import Synchronization

/// How many are in at once, and the most there ever were.
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
