/// The file descriptors that a run may have open at once.
///
/// Without free descriptors the event loop of libdispatch fails. So code that opens files holds a token for each descriptor
/// that it may need at once.
package struct DescriptorBudget: Sendable {
  /// Reading a file takes two: a folder and one file in it.
  package static let tokensToRead = 2
  /// Listing a folder takes two: the folder, and another one on the way to it if its path is longer than the kernel accepts.
  static let tokensToList = 2
  /// Only several walks in one deep tree could use more.
  private static let mostHeld = 16

  package let capacity: Int
  /// Folders of deep trees that stay open. Up to a quarter of the capacity is reserved for them.
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

  var isAwaited: Bool { budget.isAwaited }

  /// Waits until `count` descriptors are free and takes them, until ``giveBack(_:)``.
  func take(_ count: Int) {
    TokenOrder.descriptors.take()
    _ = budget.acquire(count)
  }

  func giveBack(_ count: Int) { budget.release(min(count, budget.capacity)) }
}
