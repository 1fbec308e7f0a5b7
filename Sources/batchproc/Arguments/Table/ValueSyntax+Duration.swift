import BatchCore
import BatchEngine

extension ValueSyntax {
  /// Seconds from `90`, `90s`, `10m`, `2h`, `1d`.
  static func duration(_ value: PathBytes) throws(Mismatch) -> Int64 {
    let expected = Mismatch(sentence: "Please provide a duration such as '90s', '10m', '2h' or '1d'.")
    let digits = value.bytes.prefix(while: DecimalDigits.contains)
    let units: [[UInt8]: Int64] = [
      []: 1, Array("s".utf8): 1, Array("m".utf8): 60, Array("h".utf8): 3600, Array("d".utf8): 86_400,
    ]
    guard let number = DecimalDigits.value(of: digits),
      let unit = units[Array(value.bytes[digits.endIndex...])]
    else {
      throw expected
    }
    guard let seconds = Int64(exactly: number)?.multipliedReportingOverflow(by: unit), !seconds.overflow,
      seconds.partialValue <= 1_000_000_000
    else { throw .tooLarge }
    return seconds.partialValue
  }

  /// A duration, or a date or time of the local clock.
  static func age(_ value: PathBytes) throws(Mismatch) -> OptionValue {
    if let moment = WrittenTime.beginning(of: value) { return .time(moment) }
    do throws(Mismatch) {
      return .duration(try duration(value))
    } catch {
      throw Mismatch(
        sentence: "Please provide a duration such as '12h' or '7d', or a date such as '2026-01-31'.")
    }
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

  /// Years, months, days and hours from `1y5m7d2h`, in this order and each at most once.
  static func span(_ value: PathBytes) throws(Mismatch) -> Retention.Span {
    let expected = Mismatch(sentence: "Please provide a span such as '30d', '1y6m' or '2y5m7d3h'.")
    var numbers: [Int] = []
    var rest = value.bytes[...]
    for unit in "ymdh".utf8 {
      let digits = rest.prefix(while: DecimalDigits.contains)
      guard rest.dropFirst(digits.count).first == unit else {
        numbers.append(0)
        continue
      }
      guard let number = DecimalDigits.value(of: digits) else { throw expected }
      guard number <= 100_000 else { throw .tooLarge }
      numbers.append(Int(number))
      rest = rest.dropFirst(digits.count + 1)
    }
    guard rest.isEmpty, numbers.contains(where: { $0 > 0 }) else { throw expected }
    return Retention.Span(years: numbers[0], months: numbers[1], days: numbers[2], hours: numbers[3])
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
