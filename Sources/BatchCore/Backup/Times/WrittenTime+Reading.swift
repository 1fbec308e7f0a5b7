import BatchEngine

extension WrittenTime {
  /// Parses `@1795140000`, `yesterday`, `today`, `2h`, `3 days ago`, `2026-11-23`, `2026-11-23 05:02`,
  /// `2026-11-23T05:02:54+01:00`; nil for anything else.
  ///
  /// A blank or a `T` precedes the time. A time without an offset from UTC is local.
  package init?(_ text: [UInt8]) {
    if let word = Self.words[String(decoding: text, as: UTF8.self)] {
      self = word
    } else if text.first == UInt8(ascii: "@") {
      let isBefore = text.dropFirst().first == UInt8(ascii: "-")
      guard let seconds = Self.number(text.dropFirst(isBefore ? 2 : 1), digits: 1...12) else { return nil }
      self = .moment(isBefore ? -seconds : seconds, precision: 1)
    } else if let time = Self.calendarTime(text[...]) ?? Self.timeAgo(text[...]) {
      self = time
    } else {
      return nil
    }
  }

  private static let words: [String: WrittenTime] = ["today": .day(before: 0), "yesterday": .day(before: 1)]

  // MARK: Ages

  /// Parses `2h`, `1d12h`, `3 days`, `2 weeks ago`: numbers with units, in any order.
  ///
  /// - Parameter month: the unit that is a month besides `month`: in a span of retention rules `m` is a month, elsewhere a minute.
  /// - Returns: years, months and days, and the seconds of the smaller units; nil for any other text, also for a number without
  ///   a unit.
  package static func span(
    of text: PathBytes, month: String = "month"
  ) -> (calendar: Retention.Span, seconds: Int64)? {
    span(of: text.bytes[...], month: month)
  }

  private static func span(
    of text: ArraySlice<UInt8>, month: String = "month", mostDigits: Int = 10
  ) -> (calendar: Retention.Span, seconds: Int64)? {
    var (span, seconds, rest) = (Retention.Span(), Int64(0), text)
    func skipBlanks() { rest = rest.drop { $0 == UInt8(ascii: " ") } }
    while let first = rest.first, DecimalDigits.contains(first) {
      let digits = rest.prefix(while: DecimalDigits.contains)
      rest = rest.dropFirst(digits.count)
      skipBlanks()
      let unit = rest.prefix { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
      rest = rest.dropFirst(unit.count)
      skipBlanks()
      guard let count = number(digits, digits: 1...mostDigits) else { return nil }
      switch String(decoding: unit, as: UTF8.self) {
      case month, "month", "months": span.months.addClamped(Int(count))
      case "s", "sec", "second", "seconds": seconds.addClamped(count)
      case "m", "min", "minute", "minutes": seconds.addClamped(count * 60)
      case "h", "hour", "hours": seconds.addClamped(count * 3600)
      case "d", "day", "days": span.days.addClamped(Int(count))
      case "w", "week", "weeks": span.days.addClamped(Int(count) * 7)
      case "y", "year", "years": span.years.addClamped(Int(count))
      default: return nil
      }
    }
    let isRead = rest.isEmpty || rest.elementsEqual("ago".utf8)
    return isRead && rest.count < text.count ? (span, seconds) : nil
  }

  private static func timeAgo(_ text: ArraySlice<UInt8>) -> WrittenTime? {
    span(of: text, mostDigits: 5).map { .ago($0.calendar, seconds: $0.seconds) }
  }

  // MARK: Calendar times

  private static func calendarTime(_ text: ArraySlice<UInt8>) -> WrittenTime? {
    var rest = text
    guard let date = numbers(&rest, separator: "-", widths: [4, 2, 2]),
      let midnight = LocalTime.seconds(of: date + [0, 0, 0])
    else { return nil }
    var (wall, precision) = (midnight + 86_399, Int64(86_400))
    if let first = rest.first, first == UInt8(ascii: "T") || first == UInt8(ascii: " ") {
      rest = rest.dropFirst()
      guard let clock = numbers(&rest, separator: ":", widths: [2, 2]) else { return nil }
      var seconds: [Int64] = []
      if rest.first == UInt8(ascii: ":") {
        rest = rest.dropFirst()
        guard let given = numbers(&rest, separator: ":", widths: [2]) else { return nil }
        seconds = given
      }
      guard let read = LocalTime.seconds(of: date + clock + (seconds.isEmpty ? [59] : seconds)) else {
        return nil
      }
      (wall, precision) = (read, seconds.isEmpty ? 60 : 1)
    }
    if rest.isEmpty { return .wall(wall, precision: precision) }
    return offset(rest.first == UInt8(ascii: " ") ? rest.dropFirst() : rest).map {
      .moment(wall - $0, precision: precision)
    }
  }

  /// Seconds from `Z`, `+01`, `+0100` and `-03:30`.
  private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
    if text.elementsEqual("Z".utf8) { return 0 }
    guard let sign = text.first, sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { return nil }
    var rest = text.dropFirst()
    guard let hours = numbers(&rest, separator: ":", widths: [2]), hours[0] <= 15 else { return nil }
    if rest.first == UInt8(ascii: ":") { rest = rest.dropFirst() }
    let minutes = rest.isEmpty ? [0] : numbers(&rest, separator: ":", widths: [2])
    guard let minutes, minutes[0] < 60, rest.isEmpty else { return nil }
    return (sign == UInt8(ascii: "-") ? -1 : 1) * (hours[0] * 3600 + minutes[0] * 60)
  }

  /// Removes numbers of these widths from the beginning; removes nothing if they are missing.
  private static func numbers(
    _ text: inout ArraySlice<UInt8>, separator: Unicode.Scalar, widths: [Int]
  ) -> [Int64]? {
    var (rest, numbers) = (text, [Int64]())
    for (index, width) in widths.enumerated() {
      if index > 0 {
        guard rest.first == UInt8(ascii: separator) else { return nil }
        rest = rest.dropFirst()
      }
      guard let number = number(rest.prefix(width), digits: width...width) else { return nil }
      numbers.append(number)
      rest = rest.dropFirst(width)
    }
    text = rest
    return numbers
  }

  private static func number(_ text: ArraySlice<UInt8>, digits: ClosedRange<Int>) -> Int64? {
    digits.contains(text.count) ? DecimalDigits.value(of: text).flatMap { Int64(exactly: $0) } : nil
  }
}
