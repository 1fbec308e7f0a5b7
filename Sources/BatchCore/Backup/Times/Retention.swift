/// Which snapshots of a set stay: the rules of `restic forget`, as version 0.14 counts them.
///
/// A rule of a period keeps the newest snapshot of each hour, day, ISO week, month or year in local time, for so many
/// periods as have a snapshot. A snapshot stays when any rule keeps it.
package struct Retention: Sendable, Hashable {
  /// A rule, and so the reason why a snapshot stays.
  package enum Rule: Sendable, Hashable {
    case last
    case hourly
    case daily
    case weekly
    case monthly
    case yearly
    /// Younger than the newest snapshot, or older by less than ``Retention/within``.
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

  /// How many snapshots the rules that count may keep.
  package var counts: [Rule: Int]
  /// Nil for no such rule.
  package var within: Span?

  package init(counts: [Rule: Int] = [:], within: Span? = nil) {
    self.counts = counts
    self.within = within
  }

  /// Whether no rule is given; then nothing may be removed.
  package var isEmpty: Bool { counts.values.allSatisfy { $0 <= 0 } && within == nil }

  /// Why each snapshot stays; none of the rules keeps those without a reason.
  ///
  /// - Parameters:
  ///   - times: of the snapshots in seconds since 1970, from the newest snapshot to the oldest one.
  ///   - now: a span begins at the newest snapshot that is not later; a clock that was wrong makes such.
  package func reasons(of times: [Int64], now: Int64) -> [[Rule]] {
    var reasons = [[Rule]](repeating: [], count: times.count)
    if let within, let latest = times.filter({ $0 <= now }).max() ?? times.max() {
      let start = LocalTime(latest).seconds(before: within)
      for index in times.indices where times[index] > start { reasons[index].append(.within) }
    }
    for rule in Self.counting {
      var left = counts[rule] ?? 0
      var previous: [Int]?
      for index in times.indices where left > 0 {
        let period = rule == .last ? [index] : LocalTime(times[index]).period(of: rule)
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
