import CLinux
import Glibc

/// How a run competes with others for processor and disk.
package enum ProcessPriority: String, Sendable, CaseIterable {
  /// Lowest priority: nice 19 and the idle I/O class.
  case background
  /// Behind interactive work: nice 10 and the lowest best-effort level.
  case utility
  /// The priority with which the process was started.
  case standard = "default"

  /// Applies to the calling thread and all threads started from it later: called before any other thread exists. If the kernel
  /// refuses a setting, that setting is unchanged.
  ///
  /// libdispatch would set the nice value of each of its threads; the program prevents that (`CInheritedPriority`).
  package func apply() {
    switch self {
    case .standard: break
    case .utility: lower(nice: 10, ioClass: 2, level: 7)
    case .background: lower(nice: 19, ioClass: 3, level: 0)
    }
  }

  private func lower(nice value: Int32, ioClass: Int32, level: Int32) {
    // The nice value is never lowered: a process that was started with a higher one keeps it.
    if getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) < value {
      _ = clinux_set_nice(value)
    }
    _ = clinux_set_process_io_priority(ioClass, level)
  }
}
