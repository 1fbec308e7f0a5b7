import Synchronization

/// How many are in at once, and the most there ever were.
final class Crowd: Sendable {
  private let counts = Mutex((now: 0, most: 0))

  var most: Int { counts.withLock { $0.most } }

  func enter(_ count: Int = 1) {
    counts.withLock { counts in
      counts.now += count
      counts.most = max(counts.most, counts.now)
    }
  }

  func leave(_ count: Int = 1) { counts.withLock { $0.now -= count } }
}
