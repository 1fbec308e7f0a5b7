import func Glibc.gmtime_r
import func Glibc.localtime_r
import func Glibc.timegm
import struct Glibc.tm
import typealias Glibc.time_t

/// Converts wall-clock times, in the time zone of the process.
///
/// A wall time is the number of seconds from 1970-01-01 00:00:00 on that clock.
enum LocalClock {
  /// Longer than any difference from UTC, and than any step of a clock.
  private static let day: Int64 = 86_400

  /// How many seconds the clock is ahead of UTC at a time.
  static func offset(at seconds: Int64) -> Int64 {
    var (time, fields) = (time_t(seconds), tm())
    guard localtime_r(&time, &fields) != nil else { return 0 }
    return Int64(fields.tm_gmtoff)
  }

  /// The moments at which the clock shows a wall time, sorted: usually one; two if the clock was set back over it; none if it
  /// was set forward over it.
  static func moments(of wall: Int64) -> [Int64] {
    Set([offset(at: wall - day), offset(at: wall + day)])
      .map { wall - $0 }.filter { $0 + offset(at: $0) == wall }.sorted()
  }

  /// The last moment at which the clock shows at most a wall time. For times that it shows once or never.
  static func lastMoment(through wall: Int64) -> Int64 {
    var (before, after) = (wall - day, wall + day)
    while after - before > 1 {
      let middle = before + (after - before) / 2
      if middle + offset(at: middle) <= wall { before = middle } else { after = middle }
    }
    return before
  }

  /// The wall time that is a calendar span before another one; a day that does not exist in a month overflows into the next month.
  static func wall(before span: Retention.Span, _ wall: Int64) -> Int64 {
    var (time, fields) = (time_t(wall), tm())
    gmtime_r(&time, &fields)
    fields.tm_year &-= Int32(clamping: span.years)
    fields.tm_mon &-= Int32(clamping: span.months)
    fields.tm_mday &-= Int32(clamping: span.days)
    return Int64(timegm(&fields)) - Int64(span.hours) * 3600
  }

  /// The moment as a date, a time with seconds and the difference from UTC: `2026-11-23 05:02:54 +01:00`.
  static func text(of seconds: Int64) -> String {
    let offset = offset(at: seconds)
    return "\(text(ofWall: seconds + offset)) \(text(ofOffset: offset))"
  }

  static func text(ofWall wall: Int64) -> String { LocalTime.text(ofUTC: wall, "%Y-%m-%d %H:%M:%S") }

  /// The offset as text: `+05:45`.
  static func text(ofOffset offset: Int64) -> String {
    let minutes = abs(offset) / 60
    func padded(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(offset < 0 ? "-" : "+")\(padded(minutes / 60)):\(padded(minutes % 60))"
  }
}
