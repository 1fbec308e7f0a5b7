/// How many threads of the whole machine wait for a processor or for a device.
package enum LoadAverage {
  /// The average of the last minute; nil when the kernel does not tell.
  ///
  /// - Parameter proc: where proc(5) is mounted.
  package static func lastMinute(proc: PathBytes = "/proc") -> Double? {
    guard let content = try? SmallFile.read(proc.appending("loadavg".utf8)) else { return nil }
    let number = content.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\n") }
    // Double's own parser takes "nan", "inf" and hexadecimal as well.
    guard
      number.allSatisfy({ $0 == UInt8(ascii: ".") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
    else { return nil }
    return Double(String(decoding: number, as: UTF8.self))
  }
}
