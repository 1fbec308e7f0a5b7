import Synchronization

/// The file descriptors that a run may have open at once.
///
/// Without free descriptors the event loop of libdispatch fails. So code that opens files holds a token for each descriptor
/// that it may need at once.
package struct DescriptorBudget: Sendable {
  /// Reading a file takes two: a folder and one file in it.
  package static let tokensToRead = 2
  /// Listing a folder takes two: the folder, and another one on the way to it if its path is longer than the kernel accepts.
  static let tokensToList = 2
  /// Files that stay open leave at least this many for everything else, so that code that waits for descriptors always gets them.
  private static let tokensLeft = 8
  /// Only several walks in one deep tree could use more.
  private static let mostHeld = 16
  private static let mostHeldAlone = 64

  package let capacity: Int
  /// Folders of deep trees that stay open. Up to a quarter of the capacity is reserved for them.
  let heldFolders: HeldFolders
  private let budget: TokenBudget
  private let holds: HeldFileCount

  /// - Parameter capacity: descriptors, at least ``tokensToRead``.
  package init(capacity: Int) {
    self.capacity = max(capacity, Self.tokensToRead)
    heldFolders = HeldFolders(
      limit: min(Self.mostHeld, self.capacity / 4), alone: min(Self.mostHeldAlone, self.capacity / 4))
    budget = TokenBudget(capacity: max(self.capacity - heldFolders.limit, Self.tokensToRead))
    holds = HeldFileCount(limit: min(self.capacity / 4, budget.capacity - Self.tokensLeft))
  }

  /// Waits until `count` descriptors are free, runs `body`, and frees them.
  package func withDescriptors<Result, Failure: Error>(
    _ count: Int, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    TokenOrder.descriptors.take()
    return try budget.withTokens(count, body)
  }

  var isAwaited: Bool { budget.isAwaited }

  /// Waits until `count` descriptors are free and takes them, until ``giveBack(_:)``.
  func take(_ count: Int) {
    TokenOrder.descriptors.take()
    _ = budget.acquire(count)
  }

  /// Takes a descriptor for a file that stays open after a chunk, without waiting; up to a quarter of the capacity is used so.
  ///
  /// - Returns: whether it was taken; ``endHold()`` follows.
  func tryHold() -> Bool {
    guard holds.add() else { return false }
    if budget.tryAcquire() { return true }
    holds.remove()
    return false
  }

  func endHold() {
    budget.release(1)
    holds.remove()
  }

  func giveBack(_ count: Int) { budget.release(min(count, budget.capacity)) }
}

/// How many files stay open after the chunks that opened them.
private final class HeldFileCount: Sendable {
  private let limit: Int
  private let count = Mutex(0)

  init(limit: Int) {
    self.limit = limit
  }

  /// - Returns: false at the limit.
  func add() -> Bool {
    count.withLock { count in
      guard count < limit else { return false }
      count += 1
      return true
    }
  }

  func remove() { count.withLock { $0 -= 1 } }
}
