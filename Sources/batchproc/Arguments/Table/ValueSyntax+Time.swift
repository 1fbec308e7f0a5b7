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
      guard let number = DecimalDigits.value(of: text.dropFirst(isBefore ? 2 : 1)) else { throw expected }
      guard let seconds = Int64(exactly: number) else { throw .tooLarge }
      return isBefore ? -seconds : seconds
    }
    if text.last == UInt8(ascii: "Z") { text.removeLast() }
    guard text.allSatisfy({ DecimalDigits.contains($0) || "-:T".utf8.contains($0) }),
      let seconds = WrittenTime.beginning(of: PathBytes(text + [UInt8(ascii: "Z")]))
    else { throw expected }
    return seconds
  }
}
