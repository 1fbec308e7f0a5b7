import BatchEngine

/// Times as manifests write them.
extension FileStatus.Time {
  private static let billion: Int32 = 1_000_000_000

  /// Appends `S.NNNNNNNNN`, where a minus applies only to the seconds, as in mtree.
  func appendFields(to output: inout [UInt8]) {
    output.append(contentsOf: String(seconds).utf8)
    Self.appendFraction(max(0, nanoseconds), to: &output)
  }

  /// Appends the time as one decimal number with nine digits after the point.
  package func appendNumber(to output: inout [UInt8]) {
    guard seconds < 0, nanoseconds > 0, nanoseconds < Self.billion else {
      return appendFields(to: &output)
    }
    output.append(UInt8(ascii: "-"))
    output.append(contentsOf: String((seconds + 1).magnitude).utf8)
    Self.appendFraction(Self.billion - nanoseconds, to: &output)
  }

  private static func appendFraction(_ nanoseconds: Int32, to output: inout [UInt8]) {
    let digits = String(nanoseconds).utf8
    output.append(UInt8(ascii: "."))
    output.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(0, 9 - digits.count)))
    output.append(contentsOf: digits)
  }

  /// Parses mtree's `seconds.nanoseconds`, two whole numbers, the second of which may be missing.
  init?(fields text: ArraySlice<UInt8>) {
    guard let (seconds, isNegative, rest) = Self.whole(text),
      let nanoseconds = rest.map({ DecimalDigits.value(of: $0) }) ?? 0, nanoseconds < Self.billion
    else { return nil }
    // A minus before 0 can only apply to the whole number.
    let isBefore = isNegative && seconds == 0 && nanoseconds > 0
    self.init(
      seconds: isBefore ? -1 : seconds,
      nanoseconds: isBefore ? Self.billion - Int32(nanoseconds) : Int32(nanoseconds))
  }

  /// Parses a decimal number without an exponent; digits beyond nanoseconds are dropped.
  init?(number text: ArraySlice<UInt8>) {
    guard let (seconds, isNegative, rest) = Self.whole(text) else { return nil }
    var digits = rest.map { Array($0.prefix(9)) } ?? [UInt8(ascii: "0")]
    digits += repeatElement(UInt8(ascii: "0"), count: digits.isEmpty ? 0 : 9 - digits.count)
    guard let fraction = DecimalDigits.value(of: digits[...]) else { return nil }
    guard isNegative, fraction > 0 else {
      self.init(seconds: seconds, nanoseconds: Int32(fraction))
      return
    }
    let (floor, overflow) = seconds.subtractingReportingOverflow(1)
    guard !overflow else { return nil }
    self.init(seconds: floor, nanoseconds: Self.billion - Int32(fraction))
  }

  /// The seconds before the dot, whether the number is negative, and the digits after the dot, if any.
  private static func whole(_ text: ArraySlice<UInt8>) -> (Int64, isNegative: Bool, rest: ArraySlice<UInt8>?)?
  {
    let dot = text.firstIndex(of: UInt8(ascii: "."))
    guard let seconds: Int64 = DecimalDigits.number(text[..<(dot ?? text.endIndex)]) else { return nil }
    return (seconds, text.first == UInt8(ascii: "-"), dot.map { text[($0 + 1)...] })
  }

  /// Seconds, a point and nine digits.
  package var decimal: String {
    var bytes = [UInt8]()
    appendNumber(to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension JSONLine {
  /// Adds a string of decimal seconds with nine digits after the point: a number would lose the last digits.
  package mutating func add(_ key: String, time: FileStatus.Time) {
    add(key, plain: time.appendNumber)
  }
}
