import BatchEngine

/// A moment in the past as people write it.
///
/// A time means its last second: `2026-11-23 05:02` what was there at 05:02:59, a day what was there at its end.
package enum WrittenTime: Sendable, Hashable {
  /// Seconds since 1970 on the local clock.
  case wall(Int64, precision: Int64)
  /// Seconds since 1970, from a time with its difference from UTC or from `@1795140000`.
  case moment(Int64, precision: Int64)
  /// The end of the day so many days before today.
  case day(before: Int)
  /// So long ago.
  case ago(Retention.Span, seconds: Int64)

  /// How many seconds the time leaves open; as many count as listed with it.
  var precision: Int64 {
    switch self {
    case .wall(_, let precision), .moment(_, let precision): precision
    case .day, .ago: 1
    }
  }

  /// The moments that may be meant, in their order; two where the local clock showed the time twice.
  ///
  /// - Parameter now: in seconds since 1970.
  func moments(now: Int64) -> [Int64] {
    switch self {
    case .moment(let moment, _): return [moment]
    case .wall(let wall, let precision):
      let moments = LocalClock.moments(of: wall)
      // Of a day the last moment is meant. A time that the clock never showed means the moment when it was set forward.
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

  /// The first moment that a date, a time or `@1795140000` names: of a day its midnight on the local clock.
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
