package enum DecimalDigits {
  package static func contains(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
  }

  /// The value of a text that consists of digits; nil for other text and above 2^64 − 1.
  package static func value(of digits: some Collection<UInt8>) -> UInt64? {
    guard !digits.isEmpty else { return nil }
    var value: UInt64 = 0
    for byte in digits {
      guard contains(byte) else { return nil }
      let (tens, tooMany) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooMuch) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      guard !tooMany, !tooMuch else { return nil }
      value = sum
    }
    return value
  }

  /// The value of decimal digits that may follow a minus; nil if the type cannot hold it.
  package static func number<Number: FixedWidthInteger>(_ text: ArraySlice<UInt8>) -> Number? {
    guard text.first == UInt8(ascii: "-") else { return value(of: text).flatMap { Number(exactly: $0) } }
    guard let magnitude = value(of: text.dropFirst()) else { return nil }
    if magnitude == Int64.min.magnitude { return Number(exactly: Int64.min) }
    return Int64(exactly: magnitude).flatMap { Number(exactly: -$0) }
  }
}
