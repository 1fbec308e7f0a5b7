/// The file descriptors that a run may have open at once.
///
/// This is for safety: in a process without free descriptors libdispatch's own monitor fails. Code that opens a file holds a
/// token for each descriptor it may need at a time.
package struct DescriptorBudget: Sendable {
  /// A folder and one file in it: what reading a file takes.
  package static let tokensToRead = 2
  /// A folder, and the next one on the way to it when its path is longer than the kernel takes.
  static let tokensToList = 2
  /// Only walks that go on in several places of one deep tree could use more.
  private static let mostHeld = 16

  package let capacity: Int
  /// Folders on the way that stay open where trees are deep: up to a quarter of the capacity is for them alone.
  let heldFolders: HeldFolders
  private let budget: TokenBudget

  /// - Parameter capacity: descriptors, at least ``tokensToRead``.
  package init(capacity: Int) {
    self.capacity = max(capacity, Self.tokensToRead)
    heldFolders = HeldFolders(limit: min(Self.mostHeld, self.capacity / 4))
    budget = TokenBudget(capacity: max(self.capacity - heldFolders.limit, Self.tokensToRead))
  }

  /// Waits until `count` descriptors are free, runs `body`, and frees them.
  package func withDescriptors<Result, Failure: Error>(
    _ count: Int, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    TokenOrder.descriptors.take()
    return try budget.withTokens(count, body)
  }

  /// Whether a thread may be waiting for descriptors.
  var isAwaited: Bool { budget.isAwaited }

  /// Waits until `count` descriptors are free and takes them, until ``giveBack(_:)``.
  func take(_ count: Int) {
    TokenOrder.descriptors.take()
    _ = budget.acquire(count)
  }

  func giveBack(_ count: Int) { budget.release(min(count, budget.capacity)) }
}
