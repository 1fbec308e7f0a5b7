import Glibc

/// What the process has asked of the processors.
package enum ProcessorTime {
  /// Time that its threads computed.
  package static func computed() -> Duration {
    var used = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
    return .seconds(Int64(used.tv_sec)) + .nanoseconds(Int64(used.tv_nsec))
  }

  /// Time that the threads which exist now waited for a processor; 0 where the kernel does not tell.
  static func waited() -> Duration {
    guard let folder = opendir("/proc/self/task") else { return .zero }
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
      guard let content = try? SmallFile.read(file) else { return .nanoseconds(sum) }
      let fields = content.split(separator: UInt8(ascii: " "))
      if fields.count > 1, let waited = UInt64(decimalIn: fields[1]) { sum += Int64(clamping: waited) }
    }
    return .nanoseconds(sum)
  }
}
