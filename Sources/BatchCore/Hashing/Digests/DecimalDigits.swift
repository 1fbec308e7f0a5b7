import BatchEngine

/// Parses decimal numbers.
enum DecimalDigits {
  /// The value of a text that consists of digits; nil for other text and above 2^64 − 1.
  static func value(of digits: ArraySlice<UInt8>) -> UInt64? {
    guard !digits.isEmpty else { return nil }
    var value: UInt64 = 0
    for byte in digits {
      guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
      let (tens, tooMany) = value.multipliedReportingOverflow(by: 10)
      let (sum, tooMuch) = tens.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      guard !tooMany, !tooMuch else { return nil }
      value = sum
    }
    return value
  }
}
