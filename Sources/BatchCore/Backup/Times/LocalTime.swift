import func Glibc.gmtime_r
import func Glibc.localtime_r
import func Glibc.mktime
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

  /// The numbers that distinguish one period of a rule from the next.
  func period(of rule: Retention.Rule) -> [Int] {
    let (year, month, day) = (Int(fields.tm_year), Int(fields.tm_mon), Int(fields.tm_mday))
    switch rule {
    case .hourly: return [year, month, day, Int(fields.tm_hour)]
    case .daily: return [year, month, day]
    case .weekly: return isoWeek
    case .monthly: return [year, month]
    case .yearly: return [year]
    case .last, .within: return []
    }
  }

  /// The ISO 8601 year and week number: weeks begin on Monday, and belong to the year of their Thursday.
  private var isoWeek: [Int] {
    let weekday = (Int(fields.tm_wday) + 6) % 7
    let thursday = Int(fields.tm_yday) - weekday + 3
    let year = Int(fields.tm_year) + 1900
    if thursday < 0 {
      return [year - 1, (thursday + Self.days(in: year - 1)) / 7]
    }
    if thursday >= Self.days(in: year) { return [year + 1, 0] }
    return [year, thursday / 7]
  }

  private static func days(in year: Int) -> Int {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 366 : 365
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
  static func stamp(of seconds: Int64) -> String {
    var time = time_t(seconds)
    var fields = tm()
    gmtime_r(&time, &fields)
    let numbers = [
      (Int(fields.tm_year) + 1900, 4), (Int(fields.tm_mon) + 1, 2), (Int(fields.tm_mday), 2),
      (Int(fields.tm_hour), 2), (Int(fields.tm_min), 2), (Int(fields.tm_sec), 2),
    ]
    let digits = numbers.map { number, width in
      String(repeating: "0", count: max(0, width - String(number).count)) + String(number)
    }
    return digits[..<3].joined() + "T" + digits[3...].joined() + "Z"
  }

  /// The moment of a stamp; nil for other text.
  static func seconds(ofStamp stamp: some Collection<UInt8>) -> Int64? {
    let bytes = Array(stamp)
    guard bytes.count == 16, bytes[8] == UInt8(ascii: "T"), bytes[15] == UInt8(ascii: "Z") else { return nil }
    func number(_ range: Range<Int>) -> Int32? {
      guard bytes[range].allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
        return nil
      }
      return bytes[range].reduce(0) { $0 * 10 + Int32($1 - UInt8(ascii: "0")) }
    }
    guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
      let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15)
    else { return nil }
    var fields = tm()
    (fields.tm_year, fields.tm_mon, fields.tm_mday) = (year - 1900, month - 1, day)
    (fields.tm_hour, fields.tm_min, fields.tm_sec) = (hour, minute, second)
    let seconds = Int64(timegm(&fields))
    return self.stamp(of: seconds).utf8.elementsEqual(bytes) ? seconds : nil
  }
}
