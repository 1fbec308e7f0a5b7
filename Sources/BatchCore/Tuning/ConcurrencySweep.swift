import func Glibc.log

/// Decides which measurements a sweep makes, in which order, and what they show.
///
/// It measures nothing itself: it returns the next setting, and receives how long the same work took with it. Settings are
/// measured in turns, so that other load of the machine affects all of them.
package struct ConcurrencySweep: Sendable {
  /// The varied parameters: operations at once, and files per operation (nil for `auto`).
  package struct Setting: Sendable, Hashable {
    package let concurrency: Int
    package let stride: Int?

    package init(concurrency: Int, stride: Int? = nil) {
      self.concurrency = concurrency
      self.stride = stride
    }
  }

  /// A setting with the duration of each run in seconds.
  package struct Point: Sendable, Hashable {
    package let setting: Setting
    package fileprivate(set) var seconds: [Double] = []

    package var median: Double {
      let sorted = seconds.sorted()
      guard let middle = sorted.dropFirst(sorted.count / 2).first else { return .infinity }
      return sorted.count % 2 == 1 ? middle : (middle + sorted[sorted.count / 2 - 1]) / 2
    }

    package var least: Double { seconds.min() ?? .infinity }

    /// The spread of the runs, as a fraction of the median; nil before there are three.
    package var spread: Double? {
      guard seconds.count >= 3, let least = seconds.min(), let most = seconds.max(), median > 0 else {
        return nil
      }
      return (most - least) / median
    }
  }

  package struct Recommendation: Sendable, Hashable {
    /// Why it is not simply the fastest setting.
    package enum Reason: Sendable, Hashable {
      /// The work has fewer parts than useful operations.
      case fewParts
      /// A run took only this many seconds.
      case shortRuns(Double)
      /// The runs of one setting differ by this fraction of their time, and the settings do not differ more.
      case noise(Double)
      /// All settings are equally fast within this fraction of their time: the smallest number is recommended.
      case flat(Double)
      /// Several settings are equally fast within this fraction of their time: the smallest number of them is recommended.
      case nearest(Double)
    }

    /// Nil for `auto`.
    package var concurrency: Int?
    /// Nil for `auto`.
    package var stride: Int?
    package var reason: Reason?
  }

  private enum Phase {
    case concurrency, stride, ended
  }

  private static let levels = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512]
  private static let strides = [16, 64, 256, 1024]
  private static let fewestRuns = 3
  /// Enough to use the given time when runs differ.
  private static let mostRuns = 500
  /// Settings that take longer than the best one by this factor are not measured again.
  private static let hopeless = 1.3
  /// Settings within this fraction count as equal for the recommendation, even if the runs of one setting differ less: the
  /// smaller number is cheaper.
  private static let equal = 0.015
  /// From this spread on, settings that seem equal may not be equal.
  private static let muchNoise = 0.1
  /// Above this ratio of variances the settings differ, not only their runs.
  private static let clearRatio = 3.0
  /// Shorter runs, in seconds, mainly measure start-up and the machine.
  private static let shortestRun = 0.02
  private static let contending = 1.05
  private static let knownSpread = 0.03
  /// A stride is recommended only if its time is below this fraction of that of `auto`.
  private static let worthStride = 0.95
  /// The fraction of the time for measuring the concurrency.
  private static let concurrencyShare = 0.75

  package private(set) var points: [Point]
  /// The measurements of strides, at the recommended concurrency.
  package private(set) var stridePoints: [Point] = []
  private let budget: Double
  /// Whether the work, not the machine, limits the largest number.
  private let isLimitedByWork: Bool
  private var phase = Phase.concurrency
  private var turn = 0
  private var rounds = 0
  private var isStopped = false

  /// - Parameters:
  ///   - most: operations at once at most.
  ///   - parts: how many parts different operations can process at the same time.
  ///   - seconds: the time for all measurements together.
  package init(most: Int, parts: Int = .max, seconds: Double) {
    isLimitedByWork = parts < most
    let most = min(most, max(1, parts))
    var levels = Self.levels.filter { $0 <= max(1, most) }
    if levels.last != most, most > 1 { levels.append(most) }
    points = levels.map { Point(setting: Setting(concurrency: $0)) }
    budget = seconds
  }

  /// The next setting to measure; nil at the end.
  ///
  /// - Parameter elapsed: seconds since the beginning.
  package mutating func next(elapsed: Double) -> Setting? {
    while true {
      switch phase {
      case .ended: return nil
      case .concurrency:
        if let index = nextIndex(of: points, until: budget * Self.concurrencyShare, elapsed) {
          turn = index
          return points[index].setting
        }
        guard let best = recommendedConcurrency, elapsed < budget else {
          phase = .ended
          continue
        }
        stridePoints = ([nil] + Self.strides).map { Point(setting: Setting(concurrency: best, stride: $0)) }
        (phase, turn, rounds, isStopped) = (.stride, -1, 0, false)
      case .stride:
        guard let index = nextIndex(of: stridePoints, until: budget, elapsed) else {
          phase = .ended
          continue
        }
        turn = index
        return stridePoints[index].setting
      }
    }
  }

  /// Records the measurement of the last requested setting.
  package mutating func measured(seconds: Double) {
    switch phase {
    case .concurrency: points[turn].seconds.append(seconds)
    case .stride: stridePoints[turn].seconds.append(seconds)
    case .ended: break
    }
    turn += 1
  }

  private mutating func nextIndex(of points: [Point], until limit: Double, _ elapsed: Double) -> Int? {
    turn = max(0, turn)
    while true {
      let best = points.map(\.median).min() ?? .infinity
      while turn < points.count {
        let point = points[turn]
        // The first round stops when more operations are much slower; later rounds skip those.
        if rounds == 0 {
          if turn >= 2, phase == .concurrency,
            points[turn - 2..<turn].allSatisfy({ $0.median > Self.hopeless * best })
          {
            break
          }
          return turn
        }
        let isOpen =
          point.seconds.count < Self.fewestRuns
          ? point.median <= Self.hopeless * best
          : point.median <= Self.contending * best && (point.spread ?? 1) > Self.knownSpread
            && point.seconds.count < Self.mostRuns
        if !point.seconds.isEmpty, isOpen {
          isStopped = false
          return turn
        }
        turn += 1
      }
      // Ends when nothing is left to measure or there is no time for another round.
      if isStopped || elapsed >= limit { return nil }
      (turn, isStopped) = (0, true)
      rounds += 1
    }
  }

  private var measured: [Point] { points.filter { !$0.seconds.isEmpty } }

  /// The fraction by which a setting may take longer than the fastest one and still count as equal.
  private var tolerance: Double { max(Self.equal, noise) }

  /// The variances of the logarithms of the times, by a one-way analysis (Fisher, 1925): between the settings, and between runs
  /// of one setting. Nil if no setting was measured twice.
  private var variances: (between: Double, within: Double)? {
    let groups = measured.map { $0.seconds.map { log(max($0, 1e-9)) } }
    let count = groups.reduce(0) { $0 + $1.count }
    guard count > groups.count else { return nil }
    func mean(_ values: [Double]) -> Double { values.reduce(0, +) / Double(values.count) }
    func deviation(_ values: [Double], from middle: Double) -> Double {
      values.reduce(0) { $0 + ($1 - middle) * ($1 - middle) }
    }
    let all = mean(groups.flatMap(\.self))
    let between = groups.reduce(0) { $0 + Double($1.count) * deviation([mean($1)], from: all) }
    let within = groups.reduce(0) { $0 + deviation($1, from: mean($1)) }
    return (between / Double(max(1, groups.count - 1)), within / Double(count - groups.count))
  }

  /// The noise of the runs of one setting, as a fraction of their time: two standard deviations.
  private var noise: Double { 2 * (variances?.within ?? 0).squareRoot() }

  /// Whether the settings do not differ more than the runs of one setting.
  private var isIndistinct: Bool {
    variances.map { $0.between <= Self.clearRatio * $0.within } ?? false
  }

  private var recommendedConcurrency: Int? {
    guard let best = measured.map(\.median).min() else { return nil }
    return measured.first { $0.median <= (1 + tolerance) * best }?.setting.concurrency
  }

  /// The smallest number that is as fast as any other, with a stride if one is clearly faster than `auto`; `auto` if the
  /// measurements do not decide. Nil before the first measurement.
  package var recommendation: Recommendation? {
    guard let concurrency = recommendedConcurrency, let best = measured.map(\.median).min() else {
      return nil
    }
    guard !isLimitedByWork || concurrency < points.last?.setting.concurrency ?? 1 else {
      return Recommendation(concurrency: nil, reason: .fewParts)
    }
    guard points.count > 1 else { return Recommendation(concurrency: concurrency, stride: worthyStride) }
    guard best >= Self.shortestRun else {
      return Recommendation(concurrency: nil, reason: .shortRuns(best))
    }
    if noise > Self.muchNoise, isIndistinct { return Recommendation(concurrency: nil, reason: .noise(noise)) }
    let isFlat = measured.count > 1 && measured.allSatisfy { $0.median <= (1 + tolerance) * best }
    let isClear = tolerance == Self.equal
    return Recommendation(
      concurrency: concurrency, stride: worthyStride,
      reason: isFlat ? .flat(tolerance) : isClear ? nil : .nearest(tolerance))
  }

  /// A stride that is clearly faster than `auto`.
  private var worthyStride: Int? {
    let automatic = stridePoints.first?.median ?? .infinity
    let best = stridePoints.dropFirst().filter { $0.seconds.count >= Self.fewestRuns }.min {
      $0.median < $1.median
    }
    // Also compares the fastest runs: on a busy machine medians alone are not reliable.
    guard let best, automatic.isFinite, automatic >= Self.shortestRun,
      best.median <= min(Self.worthStride, 1 - tolerance) * automatic,
      best.least <= Self.worthStride * (stridePoints.first?.least ?? 0)
    else { return nil }
    return best.setting.stride
  }
}
