import BatchEngine

/// A point in time as the kernel stores it.
package struct ManifestTime: Sendable, Hashable {
  /// Whole seconds since 1970, rounded down.
  package let seconds: Int64
  /// Nanoseconds after ``seconds``, below 1,000,000,000.
  package let nanoseconds: UInt32

  package init(seconds: Int64, nanoseconds: UInt32) {
    self.seconds = seconds
    self.nanoseconds = nanoseconds
  }

  package init(_ time: FileStatus.Time) {
    self.init(seconds: Int64(time.seconds), nanoseconds: UInt32(clamping: time.nanoseconds))
  }

  private static let billion: UInt32 = 1_000_000_000

  /// Appends `S.NNNNNNNNN`, where a minus applies only to the seconds, as in mtree.
  func appendFields(to output: inout [UInt8]) {
    output.append(contentsOf: String(seconds).utf8)
    appendFraction(nanoseconds, to: &output)
  }

  /// Appends the time as one decimal number with nine digits after the point.
  package func appendNumber(to output: inout [UInt8]) {
    guard seconds < 0, nanoseconds > 0, nanoseconds < Self.billion else {
      return appendFields(to: &output)
    }
    output.append(UInt8(ascii: "-"))
    output.append(contentsOf: String((seconds + 1).magnitude).utf8)
    appendFraction(Self.billion - nanoseconds, to: &output)
  }

  private func appendFraction(_ nanoseconds: UInt32, to output: inout [UInt8]) {
    let digits = String(nanoseconds).utf8
    output.append(UInt8(ascii: "."))
    output.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: max(0, 9 - digits.count)))
    output.append(contentsOf: digits)
  }

  /// Parses mtree's `seconds.nanoseconds`, two whole numbers, the second of which may be missing.
  init?(fields text: ArraySlice<UInt8>) {
    guard let (seconds, _, rest) = Self.whole(text),
      let nanoseconds = rest.map({ DecimalDigits.value(of: $0) }) ?? 0, nanoseconds < Self.billion
    else { return nil }
    self.init(seconds: seconds, nanoseconds: UInt32(nanoseconds))
  }

  /// Parses a decimal number without an exponent; digits beyond nanoseconds are dropped.
  init?(number text: ArraySlice<UInt8>) {
    guard let (seconds, isNegative, rest) = Self.whole(text) else { return nil }
    var digits = rest.map { Array($0.prefix(9)) } ?? [UInt8(ascii: "0")]
    digits += repeatElement(UInt8(ascii: "0"), count: digits.isEmpty ? 0 : 9 - digits.count)
    guard let fraction = DecimalDigits.value(of: digits[...]) else { return nil }
    guard isNegative, fraction > 0 else {
      self.init(seconds: seconds, nanoseconds: UInt32(fraction))
      return
    }
    let (floor, overflow) = seconds.subtractingReportingOverflow(1)
    guard !overflow else { return nil }
    self.init(seconds: floor, nanoseconds: Self.billion - UInt32(fraction))
  }

  /// The seconds before the dot, whether the number is negative, and the digits after the dot, if any.
  private static func whole(_ text: ArraySlice<UInt8>) -> (Int64, isNegative: Bool, rest: ArraySlice<UInt8>?)?
  {
    let isNegative = text.first == UInt8(ascii: "-")
    let unsigned = isNegative ? text.dropFirst() : text
    let dot = unsigned.firstIndex(of: UInt8(ascii: "."))
    guard let whole = DecimalDigits.value(of: unsigned[..<(dot ?? unsigned.endIndex)]),
      let seconds = signed(whole, isNegative: isNegative)
    else { return nil }
    return (seconds, isNegative, dot.map { unsigned[($0 + 1)...] })
  }

  private static func signed(_ magnitude: UInt64, isNegative: Bool) -> Int64? {
    guard isNegative else { return Int64(exactly: magnitude) }
    return magnitude == Int64.min.magnitude ? Int64.min : Int64(exactly: magnitude).map { -$0 }
  }
}

extension FileStatus.Time {
  init(_ time: ManifestTime) {
    self.init(seconds: time.seconds, nanoseconds: Int32(clamping: time.nanoseconds))
  }
}

extension JSONLine {
  /// Adds a string of decimal seconds with nine digits after the point: a number would lose the last digits.
  package mutating func add(_ key: String, time: FileStatus.Time) {
    add(key, plain: { ManifestTime(time).appendNumber(to: &$0) })
  }
}
