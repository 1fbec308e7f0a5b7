/// The processor features that digests and compression use.
package enum ProcessorFeatures {
  private static let wanted = [
    "sha_ni", "ssse3", "sse4_1", "sse4_2", "pclmulqdq", "avx2", "avx512f", "avx512vl", "bmi2", "vaes",
    // ARM.
    "asimd", "sha2", "sha3", "sha512", "crc32", "pmull",
  ]

  /// The names that the kernel reports, in a fixed order.
  ///
  /// - Parameter proc: where proc(5) is mounted.
  package static func present(proc: PathBytes = "/proc") -> [String] {
    guard let content = try? KernelFile.read(proc.appending("cpuinfo".utf8), limit: 16 << 20) else {
      return []
    }
    for line in content.split(separator: UInt8(ascii: "\n")) {
      guard line.starts(with: "flags".utf8) || line.starts(with: "Features".utf8),
        let colon = line.firstIndex(of: UInt8(ascii: ":"))
      else { continue }
      let words = Set(
        line[(colon + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) })
      return wanted.filter(words.contains)
    }
    return []
  }
}
