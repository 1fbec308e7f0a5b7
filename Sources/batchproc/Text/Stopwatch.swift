/// The time since a command began: all of it, also what it does before and after the run of its job.
struct Stopwatch: Sendable {
  private let start: ContinuousClock.Instant
  private let now: @Sendable () -> ContinuousClock.Instant

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
    self.now = now
    start = now()
  }

  var seconds: Double { (now() - start) / .seconds(1) }
}
