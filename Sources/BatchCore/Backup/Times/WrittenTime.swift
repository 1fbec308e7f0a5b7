import BatchEngine

/// A moment in the past as people write it.
///
/// A time means its last second: `2026-11-23 05:02` means the state at 05:02:59, and a day the state at its end.
package enum WrittenTime: Sendable, Hashable {
  /// Seconds since 1970 on the local clock.
  case wall(Int64, precision: Int64)
  /// Seconds since 1970, from a time with an offset from UTC or from `@1795140000`.
  case moment(Int64, precision: Int64)
  /// The end of the day this many days before today.
  case day(before: Int)
  /// A span before now.
  case ago(Retention.Span, seconds: Int64)

  /// The precision of the time in seconds; snapshots within that many seconds match it.
  var precision: Int64 {
    switch self {
    case .wall(_, let precision), .moment(_, let precision): precision
    case .day, .ago: 1
    }
  }

  /// The possible moments, sorted; two if the local clock showed the time twice.
  ///
  /// - Parameter now: in seconds since 1970.
  func moments(now: Int64) -> [Int64] {
    switch self {
    case .moment(let moment, _): return [moment]
    case .wall(let wall, let precision):
      let moments = LocalClock.moments(of: wall)
      // For a day, the last moment is used. A time that the clock never showed means the moment when it was set forward.
      if moments.isEmpty { return [LocalClock.lastMoment(through: wall)] }
      return precision == Self.day ? moments.suffix(1) : moments
    case .day(let count):
      let wall = Self.midnight(before: count, now) + Self.day - 1
      return WrittenTime.wall(wall, precision: Self.day).moments(now: now)
    case .ago(let span, let seconds):
      guard span != Retention.Span() else { return [now - seconds] }
      let wall = LocalClock.wall(before: span, now + LocalClock.offset(at: now))
      return [(LocalClock.moments(of: wall).last ?? LocalClock.lastMoment(through: wall)) - seconds]
    }
  }

  /// The first moment of a date or a time; for a day, midnight on the local clock.
  ///
  /// - Parameter now: in seconds since 1970.
  package func beginning(now: Int64) -> Int64 {
    switch self {
    case .wall(let wall, let precision):
      WrittenTime.wall(wall - (precision - 1), precision: 1).moments(now: now).first ?? wall
    case .moment(let moment, let precision): moment - (precision - 1)
    case .day(let count):
      WrittenTime.wall(Self.midnight(before: count, now), precision: 1).beginning(now: now)
    case .ago: moments(now: now).first ?? now
    }
  }

  /// The first moment of a date, a time or `@1795140000`.
  ///
  /// - Returns: nil for any other text.
  package static func beginning(of text: PathBytes) -> Int64? {
    let time = WrittenTime(text.bytes)
    switch time {
    case .wall, .moment: return time?.beginning(now: 0)
    case .day, .ago, nil: return nil
    }
  }

  /// When the day began that was this many days before today, on the local clock.
  private static func midnight(before count: Int, _ now: Int64) -> Int64 {
    let today = now + LocalClock.offset(at: now)
    return today - (today % day + day) % day - Int64(count) * day
  }

  private static let day: Int64 = 86_400
}
