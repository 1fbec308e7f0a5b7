/// Adapts the number of operations of a run until the processors or the device are fully used.
///
/// It measures what operations wait for. If the processors are busy, the number of operations is the number of processors,
/// divided by the fraction of its time that an operation computes. If the processors are idle, the number rises in long steps
/// until the device becomes slower. The rates before and after a step are compared; files differ, so only a clear difference
/// counts. If more operations were not faster, fewer are tried too.
///
/// It has no clock and makes no system calls: each reading contains its time, so a test can replay a run without waiting.
package struct AdaptiveConcurrency: Sendable {
  /// What was counted up to one moment; all numbers only grow.
  package struct Reading: Sendable, Hashable {
    /// Since any fixed moment.
    package var time: Duration
    /// Files and other items that operations have begun to process.
    package var files: Int
    package var bytes: Int64
    /// Processor time used by the threads of the process.
    package var processorTime: Duration
    /// Threads of operations and of the walk that wait for a device now.
    package var blocked: Int
    package var running: Int
    /// Whether more operations could begin. If not, and fewer operations run than allowed, the rate does not depend on the
    /// allowed number.
    package var hasMore: Bool
    /// Whether the source has ended, so that only the running operations are left.
    package var isExhausted = false
  }

  /// A number of operations that is being measured, and the number before it (`base`).
  private struct Trial {
    let base: Int
    /// Items a second at the base; 0 if not measured.
    let rate: Double
    /// Whether it is the first trial, whose base was measured while the walk began.
    var isFirst = false
  }

  /// The number is changed only if it is too low, or too high, by these factors.
  private static let toleranceUp = 1.3
  private static let toleranceDown = 1.45
  /// All operations may wait at the same time; then this many times more operations are needed than if they wait in turns. The
  /// second factor is used to lower a number; it is larger, so that a number is lowered later than it is raised.
  private static let marginUp = 2.0
  private static let marginDown = 4.0
  /// The first number to which a run is raised if its operations wait, unless it is careful.
  private static let firstStep = 16
  private static let factor = 4
  private static let carefulFactor = 2
  /// After a failed step up from at most this number, fewer operations are tried at once.
  private static let few = 4
  /// Ratios of the new rate to the old one: the least after a long and after a short step up, the least for a further step up,
  /// and the least gain of a step down.
  private static let leastKept = 0.8
  private static let mostKept = 0.95
  private static let fasterRate = 1.1
  private static let fewerRate = 1.15
  /// If the rate changes by more than these factors, the run has probably reached another device.
  static let fallen = 0.5
  static let risen = 2.0
  /// Below this part of the rate the device almost stands still, as a disk does that moves its data, and for so many seconds the
  /// number stays: more operations would be faster only until the device goes on.
  private static let stalled = 1.0 / 16
  private static let longestStall = 3.0
  /// Lengths of windows in seconds: to detect whether operations wait, to compare two numbers, and while a number is kept.
  private static let glance = 0.01
  private static let leastLooks = 3
  private static let longestGlance = 0.12
  private static let trialSeconds = 0.06...1.0
  private static let steadySeconds = 0.15...0.4
  private static let longDeviation = 0.4
  private static let longestSettling = 2.0
  /// Tenths of the number that a step down keeps if the processors are the limit.
  private static let keptOfLevel = 6
  private static let probeInterval = 0.25
  private static let longestProbeInterval = 8.0
  /// After each trial of fewer operations that was slower, the next one is twice as far away, up to this many doublings.
  private static let mostDoublings = 3
  private static let leastSteadyReadings = 10
  /// The fraction of the work that trials may cost.
  private static let probeCost = 0.008

  /// Operations at once that the controller asks for now.
  package private(set) var level: Int
  package let ceiling: Int
  /// Whether no trial is in progress, so that fewer readings are needed.
  package var isSettled: Bool { trial == nil && reference > 0 }
  /// Files and bytes a second in the last window that led to a decision.
  package private(set) var measured = (files: 0.0, bytes: 0.0)
  private let processors: Double
  private var trial: Trial?
  /// Items a second at the number that is kept; 0 before it is known.
  private var reference = 0.0
  private var window: RateWindow?
  /// After a change of the number: when to stop waiting for operations that began before it, and the first reading with no more
  /// operations than allowed.
  private var settling: (end: Double, start: Reading?)?
  /// The earliest moments of the next trials.
  private var nextUp = 0.0
  private var nextDown = 0.0
  private var wantsFewer = false
  /// The earliest moment of the next trial of fewer operations on a device that is as before, and how many such trials failed there:
  /// on a slow network each of them takes half a second.
  private var nextFewer = 0.0
  private var failuresOfFewer = 0
  /// Whether steps up are short, because more operations were slower.
  private var isCareful: Bool
  private let isAlwaysCareful: Bool
  /// Whether the number is still the one at the start, which was not measured.
  private var isNew: Bool
  /// The rate of a step up that was taken back.
  private var doubted: Double?
  /// Steps up in a row that were taken back.
  private var failures = 0
  /// How many operations ran in the last readings in which no more could begin, and how many readings in a row had that number.
  private var steadyCount = 0
  private var steadyReadings = 0
  /// Windows in a row whose rate was out of bounds.
  private var deviations = 0
  /// Whether operations waited for a device when the rate of the reference was measured. Otherwise a much lower rate does not mean
  /// that the device stands still: the files before were in memory.
  private var waitedAtReference = false
  /// When the device began to stand still.
  private var stallStart: Double?

  /// - Parameters:
  ///   - start: operations at first, 1 or more.
  ///   - ceiling: operations at most; never less than `start`.
  ///   - processors: how many the process may use; a fraction if a quota limits them.
  ///   - isCareful: whether steps are short from the beginning: many operations may slow the device down, such as a rotating
  ///     disk, or an earlier run found the start to be best.
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
    // At the end of a run, and while results wait for others, fewer operations run than allowed.
    guard reading.hasMore || (reading.running >= level && reading.running > 0) else {
      window = nil
      deviations = 0
      stallStart = nil
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
    return trial.map { end($0, rate: rate, window: current, now: now) } ?? hold(rate, current, now)
  }

  /// If fewer operations run than the number being measured, and no more can begin, measures the number that runs: it may still
  /// be too high. If not more run than before the trial, the trial has failed, and fewer are tried. Before the end of the source
  /// that must hold for some readings, because results may wait only for a moment.
  private mutating func follow(_ reading: Reading, _ now: Double) -> ConcurrencyChange.Reason? {
    steadyReadings = reading.running == steadyCount ? steadyReadings + 1 : 0
    steadyCount = reading.running
    guard reading.isExhausted || steadyReadings >= Self.leastSteadyReadings, let trial, reading.running > 0,
      reading.running < level
    else { return nil }
    if reading.running > trial.base { return move(to: reading.running, trial, .ending, now) }
    nextUp = now + min(Self.longestProbeInterval, pauseAfterFailures)
    (failures, wantsFewer) = (failures + 1, true)
    return move(to: reading.running, nil, .ending, now)
  }

  /// Whether the operations that began before the change have ended.
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

  /// The number of operations that the processors have time for, if it is clearly higher than the current one.
  private func wanted(_ window: RateWindow) -> Int {
    let enough = window.enough(for: processors, margin: Self.marginUp)
    return enough > Double(level) * Self.toleranceUp ? min(ceiling, Int(enough.rounded())) : level
  }

  /// If the processors are the limit, lowers the number in a few steps to what keeps them busy.
  private mutating func fall(_ window: RateWindow, _ now: Double) -> ConcurrencyChange.Reason? {
    guard window.looks >= Self.leastLooks else { return nil }
    let enough = window.enough(for: processors, margin: Self.marginDown)
    let wanted = max(1, Int(enough.rounded()), level * Self.keptOfLevel / 10)
    guard enough < Double(level) / Self.toleranceDown, wanted < level else { return nil }
    note(window)
    // Not in one step: the next files may not be in the page cache.
    return move(to: wanted, nil, .busy, now)
  }

  /// At the start of a run, if operations wait, raises the number to one that is faster on most devices.
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
    if isStalled(ratio, now) { return nil }
    waitedAtReference = wanted(window) > level
    // A long window cannot be a short pause in which nothing ran, so it counts twice; but it may contain the beginning or the end
    // of a stall.
    let weight = window.elapsed >= Self.longDeviation && !(areFew && ratio < 1) ? 2 : 1
    deviations = ratio < Self.fallen || ratio > Self.risen ? deviations + weight : 0
    if deviations == 0 { reference += (rate - reference) * 0.25 }
    if deviations >= 2 {
      (deviations, failuresOfFewer, nextFewer) = (0, 0, now)
      reference = rate
      if ratio > 1 || areFew {
        (nextUp, isCareful) = (now, isAlwaysCareful)
      } else if now >= nextDown, wanted(window) > level || level == ceiling {
        return attempt(1, rate: rate, reason: .deviceSlower, now: now)
      }
    }
    guard deviations == 0 else { return nil }
    return step(rate, window, now)
  }

  /// Whether no more operations run than there are processors.
  private var areFew: Bool { Double(level) <= max(1, processors) }

  /// Whether few operations wait for a device that stands still for a moment. Many operations are lowered as usual.
  private mutating func isStalled(_ ratio: Double, _ now: Double) -> Bool {
    guard ratio < Self.stalled, waitedAtReference, areFew else {
      stallStart = nil
      return false
    }
    deviations = 0
    let start = stallStart ?? now
    stallStart = start
    return now - start < Self.longestStall
  }

  private mutating func step(
    _ rate: Double, _ window: RateWindow, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    let wanted = self.wanted(window)
    if wantsFewer, level > 1, now >= max(nextDown, nextFewer), wanted > level || level == ceiling {
      return attempt(1, rate: rate, reason: .probe, now: now)
    }
    guard wanted > level, now >= nextUp else { return nil }
    let most = isCareful ? level * Self.carefulFactor : max(Self.firstStep, level * Self.factor)
    return attempt(min(wanted, most), rate: rate, reason: .waiting, now: now)
  }

  private mutating func end(
    _ trial: Trial, rate: Double, window: RateWindow, now: Double
  ) -> ConcurrencyChange.Reason? {
    let isUp = level > trial.base
    let gain = trial.rate > 0 ? rate / trial.rate : isUp ? Self.fasterRate : .infinity
    // Limits the cost of all trials. The first failed steps up are repeated sooner, because files differ.
    let pause = max(0, 1 - gain) * window.elapsed * 2 / Self.probeCost
    let longest = isUp ? pauseAfterFailures : Self.longestProbeInterval
    let next = now + min(Self.longestProbeInterval, longest, max(Self.probeInterval, pause))
    if isUp { nextUp = next } else { nextDown = next }
    if gain > Self.fewerRate || (isUp && gain >= keptRate) {
      self.trial = nil
      (reference, waitedAtReference) = (rate, wanted(window) > level)
      if !isUp { failuresOfFewer = 0 }
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
    if isUp {
      (doubted, failures) = (rate, failures + 1)
    } else {
      nextFewer = now + Self.longestProbeInterval * Double(1 << min(failuresOfFewer, Self.mostDoublings))
      failuresOfFewer += 1
    }
    wantsFewer = isUp ? trial.base <= Self.few || failures > 1 : gain > Self.fallen
    let reason = move(to: trial.base, nil, isUp ? .slower : .fewerSlower, now)
    // Otherwise the rate of a device that stands still would be the reference.
    if gain < Self.stalled, !trial.isFirst { (reference, waitedAtReference) = (trial.rate, true) }
    return reason
  }

  /// The longest pause before the next step up, in seconds.
  private var pauseAfterFailures: Double { Self.probeInterval * Double(1 << (2 * min(failures, 8))) }

  /// The least ratio of rates for a step up to be kept. Files differ, so a device that was as fast may be slower with other files.
  private var keptRate: Double { isCareful ? Self.mostKept : Self.leastKept }

  private mutating func attempt(
    _ target: Int, rate: Double, reason: ConcurrencyChange.Reason, now: Double
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
    (reference, stallStart) = (0, nil)
    deviations = 0
    window = nil
    settling = level == old ? nil : (now + Self.longestSettling, nil)
    return level == old ? nil : reason
  }
}
