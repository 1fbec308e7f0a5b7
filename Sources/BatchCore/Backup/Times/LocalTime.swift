import BatchEngine
import func Glibc.gmtime_r
import func Glibc.localtime_r
import func Glibc.mktime
import func Glibc.strftime
import func Glibc.timegm
import struct Glibc.tm
import typealias Glibc.time_t

/// A moment in the local time zone, and as a name in UTC.
struct LocalTime {
  private var fields = tm()

  init(_ seconds: Int64) {
    var time = time_t(seconds)
    localtime_r(&time, &fields)
  }

  /// A text that distinguishes one period of a rule from the next; empty for a rule without periods.
  func period(of rule: Retention.Rule) -> String {
    switch rule {
    case .hourly: fields.text("%Y-%m-%d %H")
    case .daily: fields.text("%Y-%m-%d")
    // Weeks of ISO 8601 begin on Monday, and belong to the year of their Thursday.
    case .weekly: fields.text("%G %V")
    case .monthly: fields.text("%Y-%m")
    case .yearly: fields.text("%Y")
    case .last, .within: ""
    }
  }

  /// The moment that is a calendar span before this one; a day that does not exist in a month overflows into the next month.
  func seconds(before span: Retention.Span) -> Int64 {
    var earlier = fields
    earlier.tm_year &-= Int32(clamping: span.years)
    earlier.tm_mon &-= Int32(clamping: span.months)
    earlier.tm_mday &-= Int32(clamping: span.days)
    earlier.tm_isdst = -1
    return Int64(mktime(&earlier)) - Int64(clamping: span.hours) &* 3600
  }

  /// The stamp: eight digits of the date, `T`, six of the time, and `Z`.
  static func stamp(of seconds: Int64) -> String { text(ofUTC: seconds, "%4Y%m%dT%H%M%SZ") }

  /// A moment in UTC, in a format of strftime(3).
  static func text(ofUTC seconds: Int64, _ format: String) -> String {
    var (time, fields) = (time_t(seconds), tm())
    gmtime_r(&time, &fields)
    return fields.text(format)
  }

  /// Whether a text has the form `20260131T120000Z`, with a day and a time that exist.
  static func isStamp(_ stamp: UnsafeBufferPointer<UInt8>) -> Bool {
    guard stamp.count == 16, stamp[8] == UInt8(ascii: "T"), stamp[15] == UInt8(ascii: "Z") else {
      return false
    }
    func number(_ range: Range<Int>) -> Int? {
      range.reduce(Optional(0)) { sum, place in
        let digit = Int(stamp[place]) - Int(UInt8(ascii: "0"))
        return (0...9).contains(digit) ? sum.map { $0 * 10 + digit } : nil
      }
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
      let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15)
    else { return false }
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    return (1...12).contains(month) && (1...days[month - 1]).contains(day) && hour < 24
      && minute < 60 && second < 60
  }

  /// The moment of a stamp; nil for other text.
  static func seconds(ofStamp stamp: some Collection<UInt8>) -> Int64? {
    let bytes = Array(stamp)
    guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
    return seconds(
      of: [0..<4, 4..<6, 6..<8, 9..<11, 11..<13, 13..<15].compactMap { place in
        DecimalDigits.value(of: bytes[place]).map { Int64($0) }
      })
  }

  /// The moment of a year, month, day, hour, minute and second in UTC; nil if there is no such date or time.
  static func seconds(of numbers: [Int64]) -> Int64? {
    let given = numbers.map { Int32(clamping: $0) }
    guard given.count == 6 else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (given[0] &- 1900, given[1] &- 1, given[2])
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (given[3], given[4], given[5])
    let seconds = Int64(timegm(&fields))
    // timegm(3) changes a day or an hour that does not exist to a later one.
    let found = [
      fields.tm_year &+ 1900, fields.tm_mon &+ 1, fields.tm_mday, fields.tm_hour, fields.tm_min,
      fields.tm_sec,
    ]
    return found == given ? seconds : nil
  }
}

extension tm {
  /// The time in a format of strftime(3), at most 63 bytes.
  package func text(_ format: String) -> String {
    withUnsafeTemporaryAllocation(byteCount: 64, alignment: 1) { room in
      var fields = self
      let count = strftime(room.baseAddress?.assumingMemoryBound(to: CChar.self), room.count, format, &fields)
      return String(decoding: room[..<count], as: UTF8.self)
    }
  }
}
