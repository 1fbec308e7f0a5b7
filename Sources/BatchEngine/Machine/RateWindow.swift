/// A period of a run with one number of operations: the work done in it, and the time that operations waited.
struct RateWindow {
  typealias Reading = AdaptiveConcurrency.Reading

  /// This many bytes count as one file: a device reads them at once.
  private static let bytesOfItem = 256.0 * 1024
  /// In standard deviations.
  private static let clearDeviation = 2.0
  /// Seconds after which a rate may count as clearly different from the expected one.
  private static let least = 0.02
  /// The processors count as busy from this fraction of their time on.
  private static let busyProcessors = 0.85

  let start: Reading
  private(set) var last: Reading
  /// The last reading that showed progress since the one before.
  private(set) var end: Reading
  /// Seconds that threads waited for a device, summed over all threads.
  private var blockedTime = 0.0
  /// Readings after the first one.
  private(set) var looks = 0

  /// The allowed number of operations.
  let level: Int

  init(_ start: Reading, level: Int) {
    self.start = start
    self.level = level
    last = start
    end = start
  }

  mutating func add(_ reading: Reading) {
    if Self.items(last, reading) > 0 { end = reading }
    looks += 1
    blockedTime += Double(reading.blocked) * ((reading.time - last.time) / .seconds(1))
    last = reading
  }

  /// Items done: files, plus bytes in units of 256 KiB.
  var items: Double { Self.items(start, end) }
  /// Seconds from the first reading to the last one (`elapsed`), and to the last one that showed progress (`span`).
  var elapsed: Double { (last.time - start.time) / .seconds(1) }
  var span: Double { (end.time - start.time) / .seconds(1) }

  /// How many operations keep the processors busy, if each waits for devices as long as in this window.
  ///
  /// Waiting for a processor, for other operations or for the collector does not count: more operations would wait as well.
  ///
  /// - Parameter margin: the factor for operations that all wait at the same time instead of in turns.
  func enough(for processors: Double, margin: Double) -> Double {
    let seconds = max(elapsed, 1e-9)
    let computing = (last.processorTime - start.processorTime) / .seconds(1) / seconds
    let enough = processors * (1 + margin * (blockedTime / seconds) / max(computing, 1e-3))
    return computing < Self.busyProcessors * processors ? enough : min(enough, Double(level))
  }

  private static func items(_ start: Reading, _ end: Reading) -> Double {
    Double(end.files - start.files) + Double(end.bytes - start.bytes) / bytesOfItem
  }

  /// Items a second; nil while the window is too short to know.
  ///
  /// - Parameters:
  ///   - needed: the number of items that is enough.
  ///   - seconds: the shortest and the longest window.
  ///   - expected: the expected rate, or 0. If the rate clearly differs, a shorter window is enough.
  func rate(needed: Double, seconds: ClosedRange<Double>, expected: Double) -> Double? {
    if span >= seconds.lowerBound, items >= needed { return items / span }
    if expected > 0, elapsed >= max(Self.least, needed / expected) {
      // Uses the standard deviation of a Poisson distribution.
      let usual = expected * elapsed
      let (few, many) = (usual * AdaptiveConcurrency.fallen, usual * AdaptiveConcurrency.risen)
      if items < few - Self.clearDeviation * few.squareRoot() { return items / elapsed }
      if items > many + Self.clearDeviation * many.squareRoot() { return items / span }
    }
    return elapsed >= seconds.upperBound ? items / elapsed : nil
  }
}
