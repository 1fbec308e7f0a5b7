/// Numbers with a fixed count of digits after the point.
enum Decimals {
  /// `1,234.5`; `0` for anything but a number.
  static func text(_ number: Double, _ digits: Int) -> String {
    let factor = [1.0, 10, 100, 1000][min(max(0, digits), 3)]
    let scaled = (number * factor).rounded()
    guard scaled.isFinite, abs(scaled) < 1e15 else { return "0" }
    let (whole, rest) = Int(scaled.magnitude).quotientAndRemainder(dividingBy: Int(factor))
    let sign = scaled < 0 ? "-" : ""
    guard digits > 0 else { return sign + ByteCount.grouped(whole) }
    let decimals = String(rest)
    return sign + ByteCount.grouped(whole) + "."
      + String(repeating: "0", count: max(0, min(digits, 3) - decimals.count)) + decimals
  }

  /// A coordinate in a drawing: one digit after the point, unless it is 0.
  static func place(_ number: Double) -> String {
    let scaled = (number * 10).rounded()
    guard scaled.isFinite, abs(scaled) < 1e9 else { return "0" }
    let (whole, rest) = Int(scaled.magnitude).quotientAndRemainder(dividingBy: 10)
    return (scaled < 0 ? "-" : "") + String(whole) + (rest == 0 ? "" : ".\(rest)")
  }
}
