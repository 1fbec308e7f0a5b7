/// Sizes that users write.
package enum ByteSize {
  package enum Failure: Error {
    case malformed
    /// More than ``Int64/max`` bytes.
    case tooLarge
  }

  /// Bytes from `512`, `64K`, `10MiB`, `1.5G`, `20MB`: powers of 1024 for a bare letter and for `iB`, powers of 1000 for `B`
  /// after a letter. Letters may have either case.
  package static func bytes(of text: [UInt8]) throws(Failure) -> Int64 {
    let digits = text.prefix(while: DecimalDigits.contains)
    var rest = text[digits.endIndex...]
    var fraction: ArraySlice<UInt8> = []
    if rest.first == UInt8(ascii: ".") {
      fraction = rest.dropFirst().prefix(while: DecimalDigits.contains)
      rest = text[fraction.endIndex...]
      guard !fraction.isEmpty, !rest.isEmpty else { throw .malformed }
    }
    guard !digits.isEmpty, let unit = unit(rest) else { throw .malformed }
    guard let bytes = scaled(digits, fraction, by: unit), let size = Int64(exactly: bytes) else {
      throw .tooLarge
    }
    return size
  }

  private static func unit(_ suffix: ArraySlice<UInt8>) -> UInt64? {
    let lowered = suffix.map { $0 | 0x20 }
    guard let letter = lowered.first else { return 1 }
    if lowered == Array("b".utf8) { return 1 }
    guard let power = Array("kmgtpe".utf8).firstIndex(of: letter) else { return nil }
    let base: UInt64
    switch lowered.dropFirst() {
    case [], Array("ib".utf8)[...]: base = 1024
    case Array("b".utf8)[...]: base = 1000
    default: return nil
    }
    return (0..<power).reduce(base) { product, _ in product * base }
  }

  /// The product, its fraction of a byte cut off; nil when it needs more than 64 bits.
  private static func scaled(
    _ digits: ArraySlice<UInt8>, _ fraction: ArraySlice<UInt8>, by unit: UInt64
  ) -> UInt64? {
    guard let whole = DecimalDigits.value(of: digits) else { return nil }
    let (product, isTooLarge) = whole.multipliedReportingOverflow(by: unit)
    guard !isTooLarge else { return nil }
    // Fifteen fraction digits are more precise than one byte, for any unit up to a petabyte.
    let kept = fraction.prefix(15)
    guard let numerator = DecimalDigits.value(of: kept) else { return product }
    let denominator = kept.reduce(into: UInt64(1)) { power, _ in power *= 10 }
    let part = denominator.dividingFullWidth(numerator.multipliedFullWidth(by: unit)).quotient
    let (sum, isTooLargeNow) = product.addingReportingOverflow(part)
    return isTooLargeNow ? nil : sum
  }
}
