import CLinux
import Glibc

/// How a run competes with others for processor and disk.
package enum ProcessPriority: String, Sendable, CaseIterable {
  /// Last in line: nice 19 and the idle class of I/O.
  case background
  /// Behind interactive work: nice 10 and the lowest best-effort level.
  case utility
  /// As the process was started.
  case standard = "default"

  /// Applies to the calling thread and to those that it and they start later: to be called before any
  /// other thread exists. What the kernel refuses stays as it is.
  ///
  /// libdispatch would give each of its threads a nice value of its own; the program prevents that (`CInheritedPriority`).
  package func apply() {
    switch self {
    case .standard: break
    case .utility: lower(nice: 10, ioClass: 2, level: 7)
    case .background: lower(nice: 19, ioClass: 3, level: 0)
    }
  }

  private func lower(nice value: Int32, ioClass: Int32, level: Int32) {
    // Never raised: a process that was started nicer stays so.
    if getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0) < value {
      _ = clinux_set_nice(value)
    }
    _ = clinux_set_process_io_priority(ioClass, level)
  }
}
