/// Which snapshots of a series are kept: the rules of `restic forget`, counted as in version 0.14.
///
/// A rule of a period keeps the newest snapshot of each hour, day, ISO week, month or year in local time, for a number of
/// periods that have snapshots. A snapshot is kept if any rule keeps it. No rule counts snapshots from the future.
package struct Retention: Sendable, Hashable {
  /// A rule, which is also the reason why a snapshot is kept.
  package enum Rule: String, Sendable {
    case last, hourly, daily, weekly, monthly, yearly
    /// Not older than the newest snapshot by ``Retention/within`` or more.
    case within
  }

  /// A span of calendar time, counted back from the newest snapshot.
  package struct Span: Sendable, Hashable {
    package var years = 0
    package var months = 0
    package var days = 0
    package var hours = 0

    package init(years: Int = 0, months: Int = 0, days: Int = 0, hours: Int = 0) {
      (self.years, self.months, self.days, self.hours) = (years, months, days, hours)
    }
  }

  /// How many snapshots each counting rule keeps.
  package var counts: [Rule: Int]
  /// Nil for no such rule.
  package var within: Span?

  package init(counts: [Rule: Int] = [:], within: Span? = nil) {
    self.counts = counts
    self.within = within
  }

  /// Whether no rule is given; then nothing may be removed.
  package var isEmpty: Bool { counts.values.allSatisfy { $0 <= 0 } && within == nil }

  /// Why each snapshot is kept; a snapshot without a reason is not kept.
  ///
  /// - Parameters:
  ///   - times: the times of the snapshots in seconds since 1970, from the newest snapshot to the oldest one by their numbers.
  ///     Only `last` goes by this order; the other rules go by time, since a clock can be set back.
  ///   - now: the current time, in seconds since 1970.
  package func reasons(of times: [Int64], now: Int64) -> [[Rule]] {
    var reasons = [[Rule]](repeating: [], count: times.count)
    let numbered = times.indices.filter { !Self.isFuture(times[$0], now: now) }
    let timed = numbered.sorted { (times[$0], -$0) > (times[$1], -$1) }
    if let within, let latest = timed.first {
      let start = LocalTime(times[latest]).seconds(before: within)
      for index in timed where times[index] > start { reasons[index].append(.within) }
    }
    for rule in Self.counting {
      var left = counts[rule] ?? 0
      var previous: String?
      for index in rule == .last ? numbered : timed where left > 0 {
        let period = rule == .last ? String(index) : LocalTime(times[index]).period(of: rule)
        guard period != previous else { continue }
        previous = period
        reasons[index].append(rule)
        left -= 1
      }
    }
    return reasons
  }

  /// Whether a time is so far after now that the difference of two machines' clocks does not explain it.
  package static func isFuture(_ seconds: Int64, now: Int64) -> Bool {
    let (ahead, isTooLarge) = seconds.subtractingReportingOverflow(now)
    return seconds > now && (isTooLarge || ahead > 600)
  }

  private static let counting: [Rule] = [.last, .hourly, .daily, .weekly, .monthly, .yearly]
}
