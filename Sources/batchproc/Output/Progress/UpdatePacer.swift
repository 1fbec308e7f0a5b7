/// Limits the number of updates a second.
struct UpdatePacer: Sendable {
  /// The time between two updates, in seconds.
  private let interval: Double
  private var last: Double?

  init(perSecond: Double = 5) {
    self.interval = 1 / perSecond
  }

  /// - Parameter now: seconds by a monotonic clock.
  mutating func admits(at now: Double) -> Bool {
    if let last, now - last < interval { return false }
    last = now
    return true
  }
}
