/// Text for numbers of bytes and of things.
enum ByteCount {
  /// `512 B`, `465.0 MiB`: powers of 1024, one decimal, rounded to the nearest.
  static func text(_ bytes: Int64) -> String {
    let bytes = UInt64(max(0, bytes))
    guard bytes >= 1024 else { return "\(bytes) B" }
    for (index, unit) in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].enumerated() {
      let shift = UInt64(10 * (index + 1))
      let (whole, part) = (bytes >> shift, bytes & ((1 << shift) - 1))
      // Half a tenth is added in twentieths so that 1023.95 KiB becomes 1.0 MiB.
      let tenths = whole * 10 + ((part >> (shift - 10)) * 20 + 1024) / 2048
      if tenths < 10_240 || unit == "EiB" { return "\(tenths / 10).\(tenths % 10) \(unit)" }
    }
    return "\(bytes) B"
  }

  /// `1.5 GiB/s`; nil when no time has passed or nothing was read.
  static func rate(_ bytes: Int64, seconds: Double) -> String? {
    guard bytes > 0, seconds > 0, let rate = Int64(exactly: (Double(bytes) / seconds).rounded()) else {
      return nil
    }
    return text(rate) + "/s"
  }

  /// `44,128`
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text.append(",") }
      text.append(digit)
    }
    return text
  }

  /// `1 file`, `44,128 files`
  static func files(_ count: Int) -> String { counted(count, "file") }

  /// `1 member`, `44,128 members`
  static func counted(_ count: Int, _ noun: String) -> String {
    "\(grouped(count)) \(noun)\(count == 1 ? "" : "s")"
  }

  /// A count with its noun in singular or plural, for a list of counts.
  static func tally(_ count: Int, _ noun: String) -> (Int, String) {
    (count, count == 1 ? noun : noun + "s")
  }
}
