/// Decides when a run without progress is reported, and when it is ended.
package struct StallWatch: Sendable {
  /// What has to be done. Times are milliseconds without progress.
  package enum Finding: Sendable, Hashable {
    /// To be reported, once until there is progress again.
    case stalled(Int)
    /// The run is to be cancelled.
    case overdue(Int, isTold: Bool)
    /// The run was cancelled and cannot end by itself: the process is to end.
    case stuck
  }

  /// The most that counts between two looks: a process that was stopped (SIGSTOP) could not look, and did not stall.
  private static let longestLook: UInt64 = 5_000
  /// The most that a cancelled run gets to end by itself.
  private static let longestEnd: UInt64 = 60_000

  private let warning: UInt64?
  private let timeout: UInt64?
  private var lastLook: UInt64?
  private var still: UInt64 = 0
  private var isTold = false
  private var isOverdue = false

  /// - Parameters:
  ///   - warning: seconds without progress after which this is reported; 0 is never.
  ///   - timeout: seconds after which the run is ended; 0 is never.
  package init(warning: Int64, timeout: Int64) {
    self.warning = Self.milliseconds(warning)
    self.timeout = Self.milliseconds(timeout)
  }

  private static func milliseconds(_ seconds: Int64) -> UInt64? {
    guard seconds > 0 else { return nil }
    let (product, overflow) = UInt64(seconds).multipliedReportingOverflow(by: 1000)
    return overflow ? nil : product
  }

  /// Looks once.
  ///
  /// - Parameters:
  ///   - now: milliseconds since any fixed moment.
  ///   - hasMoved: whether there was progress since the last look.
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
