import BatchEngine

/// Whole numbers of base 10 as bytes.
enum DecimalDigits {
  /// The value of a text of digits alone, nil for any other and above 2^64 − 1.
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
