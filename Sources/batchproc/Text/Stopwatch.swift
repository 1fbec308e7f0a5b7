/// The time since a command began: including the time before and after the run of its job.
struct Stopwatch: Sendable {
  private let start: ContinuousClock.Instant
  private let now: @Sendable () -> ContinuousClock.Instant

  init(now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }) {
    self.now = now
    start = now()
  }

  var seconds: Double { (now() - start) / .seconds(1) }
}
