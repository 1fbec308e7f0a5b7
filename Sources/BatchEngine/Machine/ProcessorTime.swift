import CLinux
import Glibc

/// The processor time that the process used, and how many of its threads wait for devices.
package enum ProcessorTime {
  /// At most this many threads are examined; the others count in proportion.
  private static let mostLooks = 16

  /// Processor time of all threads.
  package static func computed() -> Duration {
    var used = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
    return .seconds(Int64(used.tv_sec)) + .nanoseconds(Int64(used.tv_nsec))
  }

  /// How many threads wait for a device now: they sleep in a call on a file.
  static func blockedThreads() -> Int {
    var threads = [Int32](repeating: 0, count: mostLooks)
    let count = Int(clinux_threads_in_calls(&threads, Int32(mostLooks)))
    let looks = min(count, mostLooks)
    let asleep = threads.prefix(looks).count { isRunnable(thread: $0) == false }
    return looks == 0 ? 0 : (asleep * count + looks / 2) / looks
  }

  /// Whether a thread computes or waits for a processor now; nil if the kernel does not report it.
  static func isRunnable(thread: Int32) -> Bool? {
    let file = PathBytes("/proc/self/task").appending("\(thread)/stat".utf8)
    guard let content = try? KernelFile.read(file) else { return nil }
    // The fields are: number, name in parentheses (any bytes), state.
    return content.lastIndex(of: UInt8(ascii: ")")).map {
      content[$0...].dropFirst(2).first == UInt8(ascii: "R")
    }
  }
}
