import Dispatch
import Synchronization

/// A bounded number of tokens that operations take before they use something scarce and give back after.
///
/// An item takes all its tokens in one step. A single turnstile lets one taker collect at a time, so
/// two operations can never each hold a part and wait for the other.
package final class TokenBudget: Sendable {
  /// How many tokens there are; at least 1.
  package let capacity: Int
  private let tokens = DispatchSemaphore(value: 0)
  private let turnstile = DispatchSemaphore(value: 1)
  private let takers = Atomic<Int>(0)

  package init(capacity: Int) {
    self.capacity = max(1, capacity)
    // libdispatch traps when a semaphore is released with a lower count than it was made with. One that was made with 0 may be
    // released at any count.
    for _ in 0..<self.capacity { tokens.signal() }
  }

  /// Waits for tokens, runs `body`, and gives the tokens back, also when it throws.
  ///
  /// - Parameter count: how many; more than the capacity counts as the capacity, so that a single
  ///   large item still runs, alone.
  package func withTokens<Result, Failure: Error>(
    _ count: Int, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let taken = acquire(count)
    defer { release(taken) }
    return try body()
  }

  /// Waits until the tokens are there and takes them.
  ///
  /// - Returns: how many were taken, which is what ``release(_:)`` wants back.
  package func acquire(_ count: Int) -> Int {
    let wanted = min(max(count, 0), capacity)
    guard wanted > 0 else { return 0 }
    takers.add(1, ordering: .relaxed)
    defer { takers.subtract(1, ordering: .relaxed) }
    Self.take(turnstile)
    for _ in 0..<wanted { Self.take(tokens) }
    turnstile.signal()
    return wanted
  }

  private static func take(_ semaphore: DispatchSemaphore) {
    // 0 is `DISPATCH_TIME_NOW`: the call does not wait.
    if semaphore.wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success { return }
    BlockingWait.run { semaphore.wait() }
  }

  /// Whether a thread is taking tokens now, and may have to wait for them.
  var isAwaited: Bool { takers.load(ordering: .relaxed) > 0 }

  /// Gives tokens back.
  package func release(_ count: Int) {
    for _ in 0..<count { tokens.signal() }
  }
}
