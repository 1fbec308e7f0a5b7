import Glibc

/// What the process has asked of the processors.
enum ProcessorTime {
  /// Time that its threads computed, and time that those which exist now waited for a processor: on a machine that
  /// others use too, threads that compute get a part of one only.
  static func demanded() -> Duration {
    var used = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
    return .seconds(Int64(used.tv_sec)) + .nanoseconds(Int64(used.tv_nsec)) + .nanoseconds(waited())
  }

  /// Nanoseconds; 0 where the kernel does not tell.
  private static func waited() -> Int64 {
    guard let folder = opendir("/proc/self/task") else { return 0 }
    defer { closedir(folder) }
    var sum: Int64 = 0
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: UInt8.self, capacity: 256) {
          PathBytes(UnsafeRawBufferPointer(start: $0, count: strlen($0)))
        }
      }
      guard name.bytes.first.map({ $0 != UInt8(ascii: ".") }) ?? false else { continue }
      let file = PathBytes("/proc/self/task").appending(name.bytes).appending("schedstat".utf8)
      // Computed, waited, turns.
      guard let content = try? SmallFile.read(file) else { return sum }
      let fields = content.split(separator: UInt8(ascii: " "))
      if fields.count > 1, let waited = UInt64(decimalIn: fields[1]) { sum += Int64(clamping: waited) }
    }
    return sum
  }
}
