import BatchCore
import BatchEngine

extension ValueSyntax {
  /// Seconds since 1970 from `@1735689600`, `2025-01-01`, `2025-01-01T00:00` and `2025-01-01T00:00:00`, with or
  /// without a `Z`; dates are of UTC.
  static func time(_ value: PathBytes) throws(Mismatch) -> Int64 {
    let expected = Mismatch(
      sentence: "Please provide a time such as '@1767225600', '2026-01-01' or '2026-01-01T12:30:00Z'.")
    var text = value.bytes[...]
    if text.first == UInt8(ascii: "@") {
      let isBefore = text.dropFirst().first == UInt8(ascii: "-")
      guard let number = wholeNumber(text.dropFirst(isBefore ? 2 : 1)) else { throw expected }
      guard let seconds = Int64(exactly: number) else { throw .tooLarge }
      return isBefore ? -seconds : seconds
    }
    if text.last == UInt8(ascii: "Z") { text.removeLast() }
    let halves = text.split(separator: UInt8(ascii: "T"), maxSplits: 1, omittingEmptySubsequences: false)
    guard let date = halves.first.flatMap({ numbers($0, separator: "-", widths: [4, 2, 2]) }),
      (1...12).contains(date[1]), (1...days(ofMonth: date[1], year: date[0])).contains(date[2])
    else { throw expected }
    var clock: [Int64] = [0, 0, 0]
    if halves.count == 2 {
      let widths = halves[1].count > 5 ? [2, 2, 2] : [2, 2]
      guard let given = numbers(halves[1], separator: ":", widths: widths) else { throw expected }
      clock = given + (given.count == 2 ? [0] : [])
    }
    guard clock[0] < 24, clock[1] < 60, clock[2] < 60 else { throw expected }
    return dayNumber(date[0], date[1], date[2]) * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2]
  }

  private static func numbers(
    _ text: ArraySlice<UInt8>, separator: Unicode.Scalar, widths: [Int]
  ) -> [Int64]? {
    let parts = text.split(separator: UInt8(ascii: separator), omittingEmptySubsequences: false)
    guard parts.map(\.count) == widths else { return nil }
    let numbers = parts.compactMap { wholeNumber($0).flatMap(Int64.init(exactly:)) }
    return numbers.count == widths.count ? numbers : nil
  }

  private static func days(ofMonth month: Int64, year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// Days since 1970; years are counted from March, so that the leap day is the last one.
  private static func dayNumber(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let shifted = month > 2 ? year : year - 1
    let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
    return 365 * shifted + shifted / 4 - shifted / 100 + shifted / 400 + dayOfYear - 719_468
  }
}
