/// Decides when a run without progress is reported, and when it is ended.
package struct StallWatch: Sendable {
  /// The action that is needed. Times are milliseconds without progress.
  package enum Finding: Sendable, Hashable {
    /// Report the stall, once until there is progress again.
    case stalled(Int)
    /// Cancel the run.
    case overdue(Int, isTold: Bool)
    /// End the process: the run was cancelled and does not end by itself.
    case stuck
  }

  /// The longest time that counts between two checks: a process that was stopped (SIGSTOP) could not check, and did not stall.
  private static let longestLook: UInt64 = 5_000
  /// The longest time for a cancelled run to end by itself.
  private static let longestEnd: UInt64 = 60_000

  private let warning: UInt64?
  private let timeout: UInt64?
  private var lastLook: UInt64?
  private var still: UInt64 = 0
  private var isTold = false
  private var isOverdue = false

  /// - Parameters:
  ///   - warning: seconds without progress before a report; 0 for never.
  ///   - timeout: seconds without progress before the run is cancelled; 0 for never.
  package init(warning: Int64, timeout: Int64) {
    self.warning = Self.milliseconds(warning)
    self.timeout = Self.milliseconds(timeout)
  }

  private static func milliseconds(_ seconds: Int64) -> UInt64? {
    guard seconds > 0 else { return nil }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1000)
    return overflow ? nil : product
  }

  /// Checks once.
  ///
  /// - Parameters:
  ///   - now: milliseconds since any fixed moment.
  ///   - hasMoved: whether there was progress since the last check.
  ///   - isHeld: whether the run is paused or waits for another process; that time does not count.
  package mutating func look(at now: UInt64, hasMoved: Bool, isHeld: Bool) -> Finding? {
    let passed = min(lastLook.map { now >= $0 ? now - $0 : 0 } ?? 0, Self.longestLook)
    lastLook = now
    if hasMoved || isHeld {
      still = 0
      isTold = false
      return nil
    }
    still += passed
    if isOverdue {
      return still >= min(timeout ?? 0, Self.longestEnd) ? .stuck : nil
    }
    if let timeout, still >= timeout {
      defer { still = 0 }
      isOverdue = true
      return .overdue(Int(clamping: still), isTold: isTold)
    }
    guard let warning, still >= warning, !isTold else { return nil }
    isTold = true
    return .stalled(Int(clamping: still))
  }
}
