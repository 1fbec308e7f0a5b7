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
    let sum = ThreadFiles.contents(of: "schedstat").reduce(into: Int64(0)) { sum, content in
      // Computed, waited, turns.
      let fields = content.split(separator: UInt8(ascii: " "))
      if fields.count > 1, let waited = UInt64(decimalIn: fields[1]) { sum &+= Int64(clamping: waited) }
    }
    return .nanoseconds(sum)
  }
}
