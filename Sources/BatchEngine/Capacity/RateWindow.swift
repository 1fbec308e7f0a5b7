/// A stretch of a run with the same number of operations, and the rate in it.
struct RateWindow {
  typealias Reading = AdaptiveConcurrency.Reading

  /// A file costs as much as so many bytes, and in counts so many bytes are as good as a file.
  static let bytesOfFile = 64.0 * 1024
  private static let bytesOfItem = 256.0 * 1024
  /// A rate that leaves these bounds around the one before is that of another device.
  static let fallen = 0.67
  static let risen = 1.5
  /// In standard deviations.
  private static let clearDeviation = 2.0
  /// Seconds that a window takes: while the number grows, when it is kept, and at most.
  static let short = 0.04
  static let steady = 0.1
  private static let longest = 1.0

  let start: Reading
  /// The last reading at which something had been done since the one before it.
  var end: Reading

  /// Files and bytes that were done, as bytes.
  var work: Double {
    Double(end.files - start.files) * Self.bytesOfFile + Double(end.bytes - start.bytes)
  }

  /// Files and bytes that were done, as files.
  var items: Double {
    Double(end.files - start.files) + Double(end.bytes - start.bytes) / Self.bytesOfItem
  }

  /// Seconds from the first reading to the last one at which something had been done.
  var span: Double { (end.time - start.time) / .seconds(1) }

  /// Bytes a second, when the window is long enough to tell.
  ///
  /// - Parameters:
  ///   - now: the newest reading.
  ///   - needed: items that tell.
  ///   - reference: the rate that is expected, 0 where there is none.
  ///   - mayBeShort: whether a short window tells, too.
  ///   - mayDeviate: whether a rate that is clearly another one than expected tells before the window is long enough.
  func rate(
    at now: Reading, needed: Int, reference: Double, mayBeShort: Bool, mayDeviate: Bool
  ) -> Double? {
    let elapsed = (now.time - start.time) / .seconds(1)
    if span >= (mayBeShort ? Self.short : Self.steady), items >= Double(needed) { return work / span }
    // Where much more was to be expected by now, there is no need to wait for it.
    let expected = reference * elapsed
    if elapsed >= Self.steady, items < Double(needed) / 2, expected > 20 * Self.bytesOfFile,
      work < expected / 3
    {
      return work / elapsed
    }
    if mayDeviate, elapsed >= Self.steady, reference > 0 {
      // Nor where the rate is clearly another one, by the deviation of counts that follow Poisson's law.
      let usual = expected / (items > 0 ? work / items : Self.bytesOfItem)
      let (few, many) = (usual * Self.fallen, usual * Self.risen)
      if items < few - Self.clearDeviation * few.squareRoot() { return work / elapsed }
      if items > many + Self.clearDeviation * many.squareRoot() { return work / span }
    }
    return elapsed >= Self.longest ? work / elapsed : nil
  }
}
