/// Moves the number of operations of a run to where the processors or the device have enough to do.
///
/// It looks at what operations wait for. Where the processors are busy, the number is that of the processors, divided by the
/// part of its time in which an operation computes. Where they are idle, the number rises in long steps as long as the device
/// does not become slower. The rates before and after a step are compared; files differ, so only a clear difference counts.
/// Where more operations were not faster, fewer are tried as well.
///
/// It has no clock and makes no calls: each reading has its time, so that a test can replay a run at once.
package struct AdaptiveConcurrency: Sendable {
  /// What was counted up to one moment; all numbers only grow.
  package struct Reading: Sendable, Hashable {
    /// Since any fixed moment.
    package var time: Duration
    package var files: Int
    /// Bytes that were read.
    package var bytes: Int64
    /// What the threads of the process have computed.
    package var processorTime: Duration
    /// Threads of operations and of the walk that wait for a device at this moment.
    package var blocked: Int
    /// Operations that run.
    package var running: Int
    /// Whether more operations could begin. When not, and fewer run than allowed, the rate does not depend on the allowed
    /// number.
    package var hasMore: Bool
    /// Whether the source has ended, so that what runs is all that is left.
    package var isExhausted = false
  }

  /// A number that is measured, and the one before it.
  private struct Trial {
    let base: Int
    /// Items a second at the base; 0 where it was not measured.
    let rate: Double
    /// Whether it is the first one, whose base was measured while the walk began.
    var isFirst = false
  }

  /// The factors by which a number must be too low, or too high, before it is changed.
  private static let toleranceUp = 1.3
  private static let toleranceDown = 1.45
  /// All operations may wait at the same time: so this many times more are right than if they took turns. The second factor is
  /// for lowering a number, which is done later.
  private static let marginUp = 2.0
  private static let marginDown = 4.0
  /// The number to which a run whose operations wait is raised first, unless it is careful.
  private static let firstStep = 16
  private static let factor = 4
  private static let carefulFactor = 2
  /// After a failed step up from at most this number, fewer operations are tried at once.
  private static let few = 4
  /// What a step up has to keep of the rate, a long one and a short one, and what makes a further one right; what a step down
  /// has to gain.
  private static let leastKept = 0.8
  private static let mostKept = 0.95
  private static let fasterRate = 1.1
  private static let fewerRate = 1.15
  /// A rate that leaves these bounds around the one before is that of another device.
  static let fallen = 0.5
  static let risen = 2.0
  /// Seconds that windows take: to see whether operations wait, to compare two numbers, and while a number is kept.
  private static let glance = 0.01
  private static let leastLooks = 3
  private static let longestGlance = 0.12
  private static let trialSeconds = 0.06...1.0
  private static let steadySeconds = 0.15...0.4
  private static let longDeviation = 0.4
  private static let longestSettling = 2.0
  /// Tenths of a number that a step down keeps where the processors bind.
  private static let keptOfLevel = 6
  private static let probeInterval = 0.25
  private static let longestProbeInterval = 8.0
  /// The part of the work that trials may cost.
  private static let probeCost = 0.008

  /// Operations at once; what the controller asks for now.
  package private(set) var level: Int
  package let ceiling: Int
  /// Whether no trial is going on, so that readings may be rare.
  package var isSettled: Bool { trial == nil && reference > 0 }
  /// Files and bytes a second in the last window that was decided upon.
  package private(set) var measured = (files: 0.0, bytes: 0.0)
  private let processors: Double
  private var trial: Trial?
  /// Items a second at the number that is kept; 0 before it is known.
  private var reference = 0.0
  private var window: RateWindow?
  /// After a change of the number: until when operations may still be at what they had begun before, and the reading at which
  /// no more ran than may.
  private var settling: (end: Double, start: Reading?)?
  /// The earliest moments of the next trials.
  private var nextUp = 0.0
  private var nextDown = 0.0
  private var wantsFewer = false
  /// Whether more operations were found to be slower: then steps up are short.
  private var isCareful: Bool
  private let isAlwaysCareful: Bool
  /// Whether the number is still that of the start, which was not measured.
  private var isNew: Bool
  /// The rate of a step up that was taken back.
  private var doubted: Double?
  /// Steps up in a row that were taken back.
  private var failures = 0
  /// Windows in a row whose rate was out of bounds.
  private var deviations = 0

  /// - Parameters:
  ///   - start: operations at first, 1 or more.
  ///   - ceiling: operations at most; never less than `start`.
  ///   - processors: how many the process may use, as a fraction where a quota says so.
  ///   - isCareful: whether steps are short from the beginning: many operations at once may make the device slow, as a disk whose
  ///     head moves, or the start was found best before.
  package init(
    start: Int, ceiling: Int, processors: Double, isCareful: Bool = false
  ) {
    level = max(1, start)
    self.ceiling = max(level, ceiling)
    self.processors = max(0.01, processors)
    self.isCareful = isCareful
    isAlwaysCareful = isCareful
    isNew = !isCareful
  }

  /// Takes a reading, one every 10 to 50 ms.
  ///
  /// - Returns: the reason, when ``level`` was changed.
  package mutating func take(_ reading: Reading) -> ConcurrencyChange.Reason? {
    let now = reading.time / .seconds(1)
    // At the end of a run, and while results wait for others, fewer run than may.
    guard reading.hasMore || (reading.running >= level && reading.running > 0) else {
      window = nil
      deviations = 0
      return follow(reading, now)
    }
    guard hasSettled(reading, now) else { return nil }
    guard var current = window else {
      window = RateWindow(reading, level: level)
      return nil
    }
    current.add(reading)
    window = current
    if let reason = fall(current, now) ?? jump(current, now) { return reason }
    let isTrial = trial != nil || reference <= 0
    let rate = current.rate(
      needed: Double(max(4, level)),
      seconds: isTrial ? Self.trialSeconds : Self.steadySeconds,
      expected: trial?.rate ?? reference)
    guard let rate else { return nil }
    note(current)
    window = RateWindow(reading, level: level)
    return trial.map { end($0, rate, current, now) } ?? hold(rate, current, now)
  }

  /// Where the last operations are fewer than the number that is measured, as many as there are can still be too many.
  private mutating func follow(_ reading: Reading, _ now: Double) -> ConcurrencyChange.Reason? {
    guard reading.isExhausted, let trial, reading.running > trial.base, reading.running < level else {
      return nil
    }
    return move(to: reading.running, trial, .ending, now)
  }

  /// Operations that began before the change have to end first.
  private mutating func hasSettled(_ reading: Reading, _ now: Double) -> Bool {
    guard let settling else { return true }
    if reading.running <= level || now >= settling.end, settling.start == nil {
      self.settling?.start = reading
    }
    guard let start = self.settling?.start else { return false }
    var since = RateWindow(start, level: level)
    since.add(reading)
    guard now >= settling.end || since.items >= Double(level) else { return false }
    self.settling = nil
    return true
  }

  private mutating func note(_ window: RateWindow) {
    let seconds = max(0.001, window.span)
    measured = (
      Double(window.end.files - window.start.files) / seconds,
      Double(window.end.bytes - window.start.bytes) / seconds
    )
  }

  // MARK: What operations wait for

  /// As many operations as the processors have time for, where that is clearly more than there are.
  private func wanted(_ window: RateWindow) -> Int {
    let enough = window.enough(for: processors, margin: Self.marginUp)
    return enough > Double(level) * Self.toleranceUp ? min(ceiling, Int(enough.rounded())) : level
  }

  /// Where the processors bind, only so many operations as keep them busy, in a few steps.
  private mutating func fall(_ window: RateWindow, _ now: Double) -> ConcurrencyChange.Reason? {
    guard window.looks >= Self.leastLooks else { return nil }
    let enough = window.enough(for: processors, margin: Self.marginDown)
    let wanted = max(1, Int(enough.rounded()), level * Self.keptOfLevel / 10)
    guard enough < Double(level) / Self.toleranceDown, wanted < level else { return nil }
    note(window)
    // Not all at once: a moment later the files may be ones that are not in memory.
    return move(to: wanted, nil, .busy, now)
  }

  /// At the start of a run whose operations wait, takes a number that is faster on most devices.
  private mutating func jump(_ window: RateWindow, _ now: Double) -> ConcurrencyChange.Reason? {
    guard isNew, level < Self.firstStep, window.elapsed >= Self.glance,
      window.items >= 4 || window.elapsed >= Self.longestGlance
    else { return nil }
    let wanted = self.wanted(window)
    guard wanted > level else { return nil }
    note(window)
    let rate = window.items >= 4 ? window.items / window.span : 0
    let first = Trial(base: level, rate: rate, isFirst: true)
    return move(to: min(wanted, Self.firstStep), first, .waiting, now)
  }

  // MARK: Decisions

  private mutating func hold(
    _ rate: Double, _ window: RateWindow, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    if let doubted, rate < doubted * Self.fewerRate {
      // The files differed; the number was not too high.
      (nextUp, wantsFewer) = (now, false)
    }
    doubted = nil
    if reference <= 0 { reference = rate }
    let ratio = rate / reference
    // A long window is no moment in which nothing ran.
    let weight = window.elapsed >= Self.longDeviation ? 2 : 1
    deviations = ratio < Self.fallen || ratio > Self.risen ? deviations + weight : 0
    if deviations == 0 { reference += (rate - reference) * 0.25 }
    if deviations >= 2 {
      deviations = 0
      reference = rate
      if ratio > 1 || Double(level) <= max(1, processors) {
        (nextUp, isCareful) = (now, isAlwaysCareful)
      } else if now >= nextDown, wanted(window) > level || level == ceiling {
        return attempt(1, rate, .deviceSlower, now)
      }
    }
    guard deviations == 0 else { return nil }
    return step(rate, window, now)
  }

  private mutating func step(
    _ rate: Double, _ window: RateWindow, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    let wanted = self.wanted(window)
    if wantsFewer, level > 1, now >= nextDown, wanted > level || level == ceiling {
      return attempt(1, rate, .probe, now)
    }
    guard wanted > level, now >= nextUp else { return nil }
    let most = isCareful ? level * Self.carefulFactor : max(Self.firstStep, level * Self.factor)
    return attempt(min(wanted, most), rate, .waiting, now)
  }

  private mutating func end(
    _ trial: Trial, _ rate: Double, _ window: RateWindow, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    let isUp = level > trial.base
    let gain = trial.rate > 0 ? rate / trial.rate : isUp ? Self.fasterRate : .infinity
    // Bounds the cost of all trials. The first steps up that failed are repeated sooner, since files differ.
    let pause = max(0, 1 - gain) * window.elapsed * 2 / Self.probeCost
    let longest = isUp ? Self.probeInterval * Double(1 << (2 * min(failures, 8))) : Self.longestProbeInterval
    let next = now + min(Self.longestProbeInterval, longest, max(Self.probeInterval, pause))
    if isUp { nextUp = next } else { nextDown = next }
    if gain > Self.fewerRate || (isUp && gain >= keptRate) {
      self.trial = nil
      reference = rate
      failures = 0
      let isEnough = gain >= (isCareful ? Self.fasterRate : 1)
      wantsFewer =
        !isUp || !isEnough
        || (trial.isFirst && trial.rate > 0 && gain < Double(level) / Double(2 * trial.base))
      isCareful = isCareful || !isUp
      if isUp, gain >= Self.fasterRate { nextUp = now }
      if !isUp { (nextUp, nextDown) = (now + Self.probeInterval, now) }
      return step(rate, window, now)
    }
    if isUp { (doubted, failures) = (rate, failures + 1) }
    wantsFewer = isUp ? trial.base <= Self.few || failures > 1 : gain > Self.fallen
    return move(to: trial.base, nil, isUp ? .slower : .fewerSlower, now)
  }

  /// What a step up has to keep of the rate. Files differ, and a device that was as fast may still be slower with other files.
  private var keptRate: Double { isCareful ? Self.mostKept : Self.leastKept }

  private mutating func attempt(
    _ target: Int, _ rate: Double, _ reason: ConcurrencyChange.Reason, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    move(to: target, Trial(base: level, rate: rate), reason, now)
  }

  private mutating func move(
    to target: Int, _ next: Trial?, _ reason: ConcurrencyChange.Reason, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    let old = level
    isNew = false
    level = min(max(1, target), ceiling)
    trial = level == old ? nil : next
    reference = 0
    deviations = 0
    window = nil
    settling = level == old ? nil : (now + Self.longestSettling, nil)
    return level == old ? nil : reason
  }
}
