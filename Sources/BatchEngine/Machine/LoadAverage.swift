/// How many threads of the whole machine wait for a processor or for a device.
package enum LoadAverage {
  /// The average of the last minute; nil when the kernel does not report it.
  ///
  /// - Parameter proc: where proc(5) is mounted.
  package static func lastMinute(proc: PathBytes = "/proc") -> Double? {
    guard let content = try? KernelFile.read(proc.appending("loadavg".utf8)) else { return nil }
    return number(content[...])
  }

  /// The percentage of the last 10 s in which some thread waited for a processor; nil when the kernel does not report it.
  ///
  /// - Parameter proc: where proc(5) is mounted.
  package static func processorPressure(proc: PathBytes = "/proc") -> Double? {
    let key = Array("some avg10=".utf8)
    guard let content = try? KernelFile.read(proc.appending("pressure/cpu".utf8)), content.starts(with: key)
    else { return nil }
    return number(content.dropFirst(key.count))
  }

  /// The decimal number at the start of a text; nil if there is none.
  static func number(_ content: ArraySlice<UInt8>) -> Double? {
    let number = content.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }
    // Double's own parser takes "nan", "inf" and hexadecimal as well.
    guard
      number.allSatisfy({ $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Double(String(decoding: number, as: UTF8.self))
  }
}
