import Glibc

/// What the process has asked of the processors.
package enum ProcessorTime {
  /// Time that its threads computed.
  package static func computed() -> Duration {
    var used = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
    return .seconds(Int64(used.tv_sec)) + .nanoseconds(Int64(used.tv_nsec))
  }

  /// Time that a thread computed and waited for a processor; nil where the kernel does not tell.
  static func notBlocked(thread: Int32) -> Duration? {
    let file = PathBytes("/proc/self/task").appending("\(thread)/schedstat".utf8)
    guard let content = try? SmallFile.read(file) else { return nil }
    // Computed, waited, turns.
    let fields = content.split(separator: UInt8(ascii: " "))
    guard fields.count > 1, let computed = UInt64(decimalIn: fields[0]),
      let waited = UInt64(decimalIn: fields[1])
    else { return nil }
    return .nanoseconds(Int64(clamping: computed)) + .nanoseconds(Int64(clamping: waited))
  }

  /// Whether a thread computes or waits for a processor at this moment; nil where the kernel does not tell.
  static func isRunnable(thread: Int32) -> Bool? {
    let file = PathBytes("/proc/self/task").appending("\(thread)/stat".utf8)
    guard let content = try? SmallFile.read(file) else { return nil }
    // The number, the name in parentheses, which may hold any byte, and the state.
    return content.lastIndex(of: UInt8(ascii: ")")).map {
      content[$0...].dropFirst(2).first == UInt8(ascii: "R")
    }
  }
}
