import Dispatch
import Synchronization

/// A bounded number of tokens. Operations take tokens before they use a scarce resource and give them back afterwards.
///
/// An operation takes all its tokens in one step. Only one thread at a time may collect tokens, so two operations can never
/// each hold a part and wait for the other.
package final class TokenBudget: Sendable {
  /// How many tokens there are; at least 1.
  package let capacity: Int
  private let tokens = DispatchSemaphore(value: 0)
  private let turnstile = DispatchSemaphore(value: 1)
  private let takers = Atomic<Int>(0)

  package init(capacity: Int) {
    self.capacity = max(1, capacity)
    // libdispatch traps if a semaphore is released with a lower count than its initial one. A semaphore with the initial count
    // 0 may always be released.
    for _ in 0..<self.capacity { tokens.signal() }
  }

  /// Waits for tokens, runs `body`, and gives the tokens back, also when it throws.
  ///
  /// - Parameter count: how many; limited to the capacity, so that one very large item can still run, alone.
  package func withTokens<Result, Failure: Error>(
    _ count: Int, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let taken = acquire(count)
    defer { release(taken) }
    return try body()
  }

  /// Waits until enough tokens are free and takes them.
  ///
  /// - Returns: how many were taken; pass this number to ``release(_:)``.
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

  /// Takes one token if one is free and no other thread collects tokens.
  package func tryAcquire() -> Bool {
    let now = DispatchTime(uptimeNanoseconds: 0)
    guard turnstile.wait(timeout: now) == .success else { return false }
    defer { turnstile.signal() }
    return tokens.wait(timeout: now) == .success
  }

  private static func take(_ semaphore: DispatchSemaphore) {
    // 0 is `DISPATCH_TIME_NOW`: the call does not wait.
    if semaphore.wait(timeout: DispatchTime(uptimeNanoseconds: 0)) == .success { return }
    BlockingWait.run { semaphore.wait() }
  }

  /// Whether a thread is taking tokens now, and may have to wait for them.
  var isAwaited: Bool { takers.load(ordering: .relaxed) > 0 }

  package func release(_ count: Int) {
    for _ in 0..<count { tokens.signal() }
  }
}
