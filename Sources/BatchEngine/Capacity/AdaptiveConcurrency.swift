/// Moves the number of operations of a run to where its rate stops growing.
///
/// A gradient limit as in Netflix's concurrency-limits (`Gradient2Limit`), on the rate in the place of the latency: by Little's law
/// each follows from the other while the number of operations is held. It begins with the multiplicative growth of TCP's
/// slow start (RFC 5681), then climbs in small steps with hysteresis, and decreases multiplicatively, as AIMD does (Chiu and Jain,
/// 1989), where more operations are slower. When the rate of a device falls, nothing that was found holds any more: it begins again
/// from one operation, as TCP does after a timeout.
///
/// It has no clock and makes no calls: readings tell the time, so that a recorded run can be played again.
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
    /// What they have waited for a processor.
    package var waitingTime: Duration
    /// Operations that run.
    package var running: Int
    /// Whether others would begin if they might: when not, and fewer run than may, the rate says nothing of their number.
    package var hasMore: Bool
    /// Operations that exist and have not begun.
    package var waiting: Int

    package init(
      time: Duration, files: Int, bytes: Int64, processorTime: Duration, waitingTime: Duration = .zero,
      running: Int, hasMore: Bool, waiting: Int = 0
    ) {
      self.time = time
      self.files = files
      self.bytes = bytes
      self.processorTime = processorTime
      self.waitingTime = waitingTime
      self.running = running
      self.hasMore = hasMore
      self.waiting = waiting
    }
  }

  private enum Phase: Hashable {
    /// Multiplies while that makes the run faster in proportion.
    case growing
    /// One step away from the base, to see whether it is better there.
    case probing(up: Bool)
    case holding
  }

  /// The part of the processors from which on more operations would only wait for one another.
  private static let busyProcessors = 0.85
  /// On a machine that others use too, threads that compute also wait for a processor. Those that wait for a device
  /// wait for one as well when they wake, for much longer than they compute then.
  private static let mostWaiting = 4.0
  /// The part of the ideal gain that a step has to bring.
  private static let growthGain = 0.25
  private static let climbGain = 0.35
  /// A step down that keeps this part of the rate is taken.
  private static let keptRate = 0.97
  private static let doubtfulRate = 0.85
  /// Rates that are so near to each other are taken for equal when nothing is to be lost.
  private static let levelRate = 0.92
  /// Seconds.
  private static let longDeviation = 0.4
  private static let longestSettling = 0.4
  private static let longestDraining = 1.0
  private static let probeInterval = 1.2
  private static let longestProbeInterval = 8.0
  /// The part of the work that probes may cost.
  private static let probeCost = 0.008

  /// Operations at once; what the controller asks for now.
  package private(set) var level: Int
  package let ceiling: Int
  /// Whether there is nothing to be found out at the moment, so that readings may be rare.
  package var isSettled: Bool { phase == .holding }
  /// Files and bytes a second in the last window that was decided upon.
  package private(set) var measured = (files: 0.0, bytes: 0.0)
  private let processors: Double
  private var phase = Phase.growing
  /// The level that was found best, and the rate there, in bytes a second; 0 before it is known.
  private var base: Int
  private var reference = 0.0
  private var window: RateWindow?
  private var last: Reading?
  private var settledAt = 0.0
  /// Until when operations above a lower number may still be at what they had begun, and the reading at which they were not
  /// any more.
  private var drain: (end: Double, start: Reading?)?
  private var nextProbe = 0.0
  private var probesUp = false
  private var hasGrown = false
  /// The rate of a step that did not seem to be worth it, while it is measured again.
  private var doubted: Double?
  /// Whether more operations were found to be as fast as those of the base.
  private var isLevel = false
  /// The smallest number that was found slower than fewer.
  private var slower = Int.max
  /// The earliest moments of the next step up and the next step down, by what the last ones cost.
  private var nextUp = 0.0
  private var nextDown = 0.0
  /// Windows in a row whose rate was out of bounds.
  private var deviations = 0
  private var lastDeviation = -1.0
  /// How many operations there are, when no others will come and more might run.
  private var rest: Int?

  /// - Parameters:
  ///   - start: operations at first, 1 or more.
  ///   - ceiling: operations at most; never less than `start`.
  ///   - processors: how many the process may use, as a fraction where a quota says so.
  ///   - isKnown: whether the start was found best before, and need not be multiplied.
  package init(start: Int, ceiling: Int, processors: Double, isKnown: Bool = false) {
    if isKnown { phase = .holding }
    level = max(1, start)
    base = level
    self.ceiling = max(level, ceiling)
    self.processors = max(0.01, processors)
  }

  /// Takes a reading, one every 10 to 50 ms.
  ///
  /// - Returns: the reason, when ``level`` was changed.
  package mutating func take(_ reading: Reading) -> ConcurrencyChange.Reason? {
    defer { last = reading }
    noteRest(reading)
    guard reading.running > 0 else {
      window = nil
      return nil
    }
    let now = reading.time / .seconds(1)
    guard now >= settledAt, let last else { return nil }
    if let drain {
      // What has begun among more operations ends first, and what has begun beside that.
      let isDrained = reading.running <= level || now >= drain.end
      if isDrained, drain.start == nil { self.drain?.start = reading }
      guard let start = drain.start,
        now >= drain.end || RateWindow(start: start, end: reading).items >= Double(level)
      else {
        return nil
      }
      self.drain = nil
    }
    let hasAdvanced = RateWindow(start: last, end: reading).work > 0
    guard var current = window else {
      // From one completion to another, since operations that began together end together.
      if hasAdvanced || now >= settledAt + Self.longestSettling {
        window = RateWindow(start: reading, end: reading)
      }
      return nil
    }
    if hasAdvanced { current.end = reading }
    window = current
    let rate = current.rate(
      at: reading, needed: needed(current), reference: reference, mayBeShort: phase != .holding,
      mayDeviate: phase != .growing)
    guard let rate else { return nil }
    let elapsed = (reading.time - current.start.time) / .seconds(1)
    let computed = (reading.processorTime - current.start.processorTime) / .seconds(1)
    let waited = (reading.waitingTime - current.start.waitingTime) / .seconds(1)
    if let reason = finish(reading, now) { return reason }
    let demanded = computed + min(max(0, waited), Self.mostWaiting * computed)
    window = RateWindow(start: reading, end: reading)
    let seconds = max(0.001, current.span)
    measured = (
      Double(current.end.files - current.start.files) / seconds,
      Double(current.end.bytes - current.start.bytes) / seconds
    )
    return decide(
      rate, over: elapsed, usesProcessors: demanded / elapsed >= Self.busyProcessors * processors, at: now)
  }

  /// At the end of a run fewer and fewer operations are left. The device may still become slower for them.
  private mutating func noteRest(_ reading: Reading) {
    let isEnding = !reading.hasMore && reading.running < level
    let left = isEnding ? reading.running : nil
    guard left != rest else { return }
    rest = left
    window = nil
    deviations = 0
    guard isEnding else { return }
    phase = .holding
    reference = 0
  }

  /// How many items a window has to hold.
  private func needed(_ window: RateWindow) -> Int {
    switch phase {
    // Of a device that takes long, growth costs more than the rate before it is worth.
    case .growing: reference > 0 || window.span >= RateWindow.steady ? max(4, level) : max(8, 2 * level)
    case .probing: max(20, 2 * level)
    case .holding: max(16, 4 * level)
    }
  }

  // MARK: Decisions

  private mutating func decide(
    _ rate: Double, over elapsed: Double, usesProcessors: Bool, at now: Double
  ) -> ConcurrencyChange.Reason? {
    switch phase {
    case .growing: grow(rate, usesProcessors, now)
    case .probing(let up): up ? endProbeUp(rate, usesProcessors, now) : endProbeDown(rate, now)
    case .holding: hold(rate, elapsed, usesProcessors, now)
    }
  }

  private mutating func grow(
    _ rate: Double, _ usesProcessors: Bool, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    guard reference > 0, level > base else {
      reference = rate
      base = level
      guard !usesProcessors, level < ceiling else { return settle(now) }
      return move(to: level * 4, .growing, .probe, now)
    }
    // Where others use the machine too, a moment in which nothing ran is no finding: what seems no faster is measured twice.
    let rate = max(rate, doubted ?? 0)
    let (gain, factor) = (rate / reference, Double(level) / Double(base))
    let isFaster = gain - 1 >= Self.growthGain * (factor - 1)
    if !isFaster, doubted == nil {
      doubted = rate
      return nil
    }
    doubted = nil
    guard isFaster else {
      // In between it may be better still: steps find out.
      probesUp = false
      nextProbe = now
      guard gain < 1 + Self.growthGain / 2 else {
        accept(rate)
        phase = .holding
        return nil
      }
      // Of so many operations at once one may be best.
      (nextUp, nextDown) = (0, 0)
      let reason = move(to: base, .holding, gain < Self.keptRate ? .slower : .noGain, now)
      isLevel = gain >= Self.levelRate
      if !isLevel { slower = min(slower, Int(factor * Double(base))) }
      // The first rate is also that of a walk that has just begun: it is measured again.
      if !hasGrown { reference = 0 }
      return reason
    }
    hasGrown = true
    accept(rate)
    guard !usesProcessors, level < ceiling else { return settle(now) }
    return move(to: level * (gain >= 0.8 * factor ? 4 : 2), .growing, .faster, now)
  }

  private mutating func endProbeUp(
    _ rate: Double, _ usesProcessors: Bool, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    let (gain, factor) = (rate / reference, Double(level) / Double(base))
    guard gain - 1 >= max(0.03, Self.climbGain * (factor - 1)) else {
      probed(gain, now)
      probesUp = false
      isLevel = gain >= Self.levelRate
      if !isLevel { slower = min(slower, Int(factor * Double(base))) }
      return move(to: base, .holding, gain < Self.keptRate ? .slower : .noGain, now)
    }
    accept(rate)
    (nextUp, nextDown) = (0, 0)
    guard !usesProcessors, level < ceiling else { return settle(now) }
    return gain >= 1 + 0.7 * (factor - 1)
      ? move(to: level * 2, .growing, .faster, now) : move(to: above, .probing(up: true), .faster, now)
  }

  private mutating func endProbeDown(_ rate: Double, _ now: Double) -> ConcurrencyChange.Reason? {
    // Small steps differ by little: what seems hardly slower is measured twice.
    let rate = max(rate, doubted ?? 0)
    let gain = rate / reference
    if gain < Self.keptRate, gain >= Self.doubtfulRate, doubted == nil {
      doubted = rate
      return nil
    }
    guard gain >= Self.keptRate else {
      probed(gain, now)
      probesUp = true
      return move(to: base, .holding, .fewerSlower, now)
    }
    // The reference stays the better one, so that many small steps lose no more than one.
    let best = max(rate, reference)
    isLevel = gain <= 1 / Self.levelRate
    accept(rate)
    reference = best
    (nextUp, nextDown) = (0, 0)
    guard level > 1 else {
      probesUp = true
      return settle(now)
    }
    return move(to: below, .probing(up: false), gain > 1 / Self.keptRate ? .slower : .noGain, now)
  }

  private mutating func hold(
    _ rate: Double, _ elapsed: Double, _ usesProcessors: Bool, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    if reference <= 0 { reference = rate }
    let ratio = rate / reference
    // A long window is no moment in which nothing ran.
    let weight = elapsed >= Self.longDeviation ? 2 : 1
    deviations = ratio < RateWindow.fallen || ratio > RateWindow.risen ? deviations + weight : 0
    if deviations >= 2 {
      deviations = 0
      (isLevel, slower) = (false, .max)
      let isSoonAfterAnother = now < lastDeviation + Self.probeInterval / 2
      lastDeviation = now
      reference = rate
      base = rest ?? level
      nextProbe = now + Self.probeInterval
      (nextUp, nextDown) = (0, 0)
      guard !usesProcessors, !isSoonAfterAnother else { return nil }
      if ratio < 1, base > 1 {
        // As TCP after a timeout: what was found holds no more, and too few operations soon become more.
        base = 1
        reference = 0
        return move(to: 1, .growing, .deviceSlower, now)
      }
      return rest == nil && level < ceiling ? move(to: level * 2, .growing, .deviceFaster, now) : nil
    }
    if deviations == 0 { reference += (rate - reference) * 0.25 }
    guard deviations == 0, now >= nextProbe, !usesProcessors, rest == nil else { return nil }
    let (mayGoUp, mayGoDown) = (level < ceiling && now >= nextUp, level > 1 && now >= nextDown)
    guard mayGoUp || mayGoDown else { return nil }
    let up = mayGoUp && (probesUp || !mayGoDown)
    return move(to: up ? above : below, .probing(up: up), .probe, now)
  }

  /// The last operations begin together where more are no slower: else the device has too few of them when the others have
  /// ended. No more than run already, since the finding may be wrong, and many may be most of the run.
  private mutating func finish(_ reading: Reading, _ now: Double) -> ConcurrencyChange.Reason? {
    guard phase == .holding, isLevel, !reading.hasMore, reading.waiting > 0, level < ceiling,
      reading.waiting <= min(level, ceiling - level), level + reading.waiting < slower
    else { return nil }
    let reason = move(to: level + reading.waiting, .holding, .ending, now)
    base = level
    reference = 0
    nextProbe = .infinity
    return reason
  }

  private var above: Int { max(level + 1, level + level / 3) }
  private var below: Int { max(1, min(level - 1, level * 3 / 4)) }

  private mutating func accept(_ rate: Double) {
    base = level
    reference = rate
  }

  /// Puts the next step of this direction so far away that all of them cost a bounded part of the work.
  private mutating func probed(_ gain: Double, _ now: Double) {
    let lost = max(0, 1 - gain) * (RateWindow.short + RateWindow.steady)
    let next = now + min(Self.longestProbeInterval, lost / Self.probeCost)
    if phase == .probing(up: true) { nextUp = next } else { nextDown = next }
    nextProbe = now + Self.probeInterval
  }

  private mutating func settle(_ now: Double) -> ConcurrencyChange.Reason? {
    phase = .holding
    nextProbe = max(nextProbe, now + Self.probeInterval)
    return nil
  }

  private mutating func move(
    to target: Int, _ next: Phase, _ reason: ConcurrencyChange.Reason, _ now: Double
  ) -> ConcurrencyChange.Reason? {
    let old = level
    phase = next
    level = min(max(1, target), ceiling)
    deviations = 0
    doubted = nil
    window = nil
    rest = nil
    // What is under way ends first, and is not of the new number.
    let latency = reference > 0 ? Double(old) * RateWindow.bytesOfFile / reference : 0
    settledAt = now + min(Self.longestSettling, max(0.01, latency))
    drain = level < old ? (now + Self.longestDraining, nil) : nil
    guard level != old else {
      phase = .holding
      return nil
    }
    return reason
  }
}
