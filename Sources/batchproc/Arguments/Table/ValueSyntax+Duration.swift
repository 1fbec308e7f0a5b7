import BatchCore
import BatchEngine

extension ValueSyntax {
  /// The longest duration, in seconds: 31 years.
  private static let longest: Int64 = 1_000_000_000

  /// Seconds from `90`, `90s`, `10m`, `1h30m`, `2 days`, `1w`.
  static func duration(_ value: PathBytes) throws(Mismatch) -> Int64 {
    if value.bytes.allSatisfy(DecimalDigits.contains), let number = DecimalDigits.value(of: value.bytes) {
      guard number <= longest else { throw .tooLarge }
      return Int64(number)
    }
    guard let (calendar, seconds) = WrittenTime.span(of: value), calendar.years == 0, calendar.months == 0
    else { throw Mismatch(sentence: "Please provide a duration such as '90s', '10m', '2h' or '1d'.") }
    return try exact(calendar, seconds)
  }

  /// The seconds of a span without years and months.
  private static func exact(_ calendar: Retention.Span, _ seconds: Int64) throws(Mismatch) -> Int64 {
    guard Int64(calendar.days) <= longest / 86_400, seconds <= longest else { throw .tooLarge }
    let sum = Int64(calendar.days) * 86_400 + seconds
    guard sum <= longest else { throw .tooLarge }
    return sum
  }

  /// An age with units, or a date or time of the local clock.
  static func age(_ value: PathBytes) throws(Mismatch) -> OptionValue {
    if let moment = WrittenTime.beginning(of: value) { return .time(moment) }
    if let (calendar, seconds) = WrittenTime.span(of: value), calendar.years == 0, calendar.months == 0 {
      return .duration(try exact(calendar, seconds))
    }
    if let time = WrittenTime(value.bytes) { return .age(time) }
    guard !value.isEmpty, value.bytes.allSatisfy(DecimalDigits.contains) else {
      throw Mismatch(
        sentence: "Please provide an age such as '12h' or '7d', or a date such as '2026-01-31'.")
    }
    let number = String(decoding: value.bytes, as: UTF8.self)
    throw Mismatch(
      sentence: "A number needs a unit, such as '\(number)d'; a date is written '2026-01-31'.")
  }

  /// Minutes since midnight from `02:30`.
  static func clock(_ value: PathBytes) throws(Mismatch) -> Int {
    let parts = value.bytes.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    let numbers = parts.compactMap {
      $0.count <= 2 ? DecimalDigits.value(of: $0).flatMap(Int.init(exactly:)) : nil
    }
    guard parts.count == 2, parts[1].count == 2, numbers.count == 2, numbers[0] < 24, numbers[1] < 60 else {
      throw Mismatch(sentence: "Please provide a time of the day such as '02:30'.")
    }
    return numbers[0] * 60 + numbers[1]
  }

  /// Years, months, days and hours from `1y5m7d2h`, `6 months`, `1w`.
  static func span(_ value: PathBytes) throws(Mismatch) -> Retention.Span {
    guard let (calendar, seconds) = WrittenTime.span(of: value, month: "m"), seconds % 3600 == 0 else {
      throw Mismatch(sentence: "Please provide a span such as '30d', '1y6m', '2 weeks' or '2y5m7d3h'.")
    }
    var span = calendar
    span.hours = Int(seconds / 3600)
    let numbers = [span.years, span.months, span.days, span.hours]
    guard numbers.allSatisfy({ $0 <= 100_000 }) else { throw .tooLarge }
    guard numbers.contains(where: { $0 > 0 }) else {
      throw Mismatch(sentence: "Please provide a span above zero.")
    }
    return span
  }

  /// A number of percent from `5%`, `5` or `150%`.
  static func redundancy(_ value: PathBytes) throws(Mismatch) -> Double {
    let expected = Mismatch(sentence: "Please provide a percentage above 0%, such as '5%'.")
    let text = value.bytes.last == UInt8(ascii: "%") ? Array(value.bytes.dropLast()) : value.bytes
    let parts = text.split(separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.allSatisfy({ !$0.isEmpty && $0.allSatisfy(DecimalDigits.contains) }),
      let number = Double(PathBytes(text).description), number > 0
    else { throw expected }
    guard number <= 1_000_000 else { throw .tooLarge }
    return number
  }

  /// A number of percent from `5%` or `0.5%`.
  static func percent(_ value: PathBytes) throws(Mismatch) -> Double {
    let expected = Mismatch(sentence: "Please provide a share above 0% and up to 100%, such as '5%'.")
    var text = value.bytes
    guard text.popLast() == UInt8(ascii: "%"), let number = Double(PathBytes(text).description),
      number > 0, number <= 100
    else { throw expected }
    return number
  }
}
