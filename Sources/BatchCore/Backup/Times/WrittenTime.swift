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
      let today = now + LocalClock.offset(at: now)
      let midnight = today - (today % Self.day + Self.day) % Self.day
      let wall = midnight + Self.day - 1 - Int64(count) * Self.day
      return WrittenTime.wall(wall, precision: Self.day).moments(now: now)
    case .ago(let span, let seconds):
      guard span != Retention.Span() else { return [now - seconds] }
      let wall = LocalClock.wall(before: span, now + LocalClock.offset(at: now))
      return [(LocalClock.moments(of: wall).last ?? LocalClock.lastMoment(through: wall)) - seconds]
    }
  }

  /// The first moment of a date, a time or `@1795140000`; for a date, midnight on the local clock.
  ///
  /// - Returns: nil for any other text.
  package static func beginning(of text: PathBytes) -> Int64? {
    switch WrittenTime(text.bytes) {
    case .wall(let wall, let precision):
      WrittenTime.wall(wall - (precision - 1), precision: 1).moments(now: 0).first
    case .moment(let moment, let precision): moment - (precision - 1)
    case .day, .ago, nil: nil
    }
  }

  private static let day: Int64 = 86_400
}
