/// The memory that the buffers of a run may take at once.
package struct MemoryBudget: Sendable {
  /// The unit in which buffers are counted: 64 KiB.
  package static let pageSize = 64 << 10

  private let budget: TokenBudget

  /// - Parameter capacity: bytes; rounded down to pages, at least one page.
  package init(capacity: Int) {
    budget = TokenBudget(capacity: capacity / Self.pageSize)
  }

  var isAwaited: Bool { budget.isAwaited }

  /// Waits until `byteCount` bytes are free and takes them, until ``giveBack(_:)``.
  func take(_ byteCount: Int) {
    TokenOrder.memory.take()
    _ = budget.acquire(Self.pages(byteCount))
  }

  func giveBack(_ byteCount: Int) { budget.release(min(Self.pages(byteCount), budget.capacity)) }

  private static func pages(_ byteCount: Int) -> Int {
    byteCount / pageSize + (byteCount % pageSize == 0 ? 0 : 1)
  }
}
