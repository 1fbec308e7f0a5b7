/// Which snapshots of a set are kept: the rules of `restic forget`, counted as in version 0.14.
///
/// A rule of a period keeps the newest snapshot of each hour, day, ISO week, month or year in local time, for a number of
/// periods that have snapshots. A snapshot is kept if any rule keeps it.
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
  ///   - times: the times of the snapshots in seconds since 1970, from the newest snapshot to the oldest one.
  ///   - now: the span is counted from the newest snapshot that is not later than this; a wrong clock can produce later ones.
  package func reasons(of times: [Int64], now: Int64) -> [[Rule]] {
    var reasons = [[Rule]](repeating: [], count: times.count)
    if let within, let latest = times.filter({ $0 <= now }).max() ?? times.max() {
      let start = LocalTime(latest).seconds(before: within)
      for index in times.indices where times[index] > start { reasons[index].append(.within) }
    }
    for rule in Self.counting {
      var left = counts[rule] ?? 0
      var previous: String?
      for index in times.indices where left > 0 {
        let period = rule == .last ? String(index) : LocalTime(times[index]).period(of: rule)
        guard period != previous else { continue }
        previous = period
        reasons[index].append(rule)
        left -= 1
      }
    }
    return reasons
  }

  private static let counting: [Rule] = [.last, .hourly, .daily, .weekly, .monthly, .yearly]
}
