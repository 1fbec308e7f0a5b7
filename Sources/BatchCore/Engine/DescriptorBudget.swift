/// The file descriptors that a run may have open at once.
///
/// This is safety and not politeness: a process that runs out of descriptors loses libdispatch's own
/// monitor with it. Whoever opens a file holds a token for each descriptor it may need at a time.
public struct DescriptorBudget: Sendable {
  /// A folder and one file in it: what reading a file takes.
  public static let tokensToRead = 2
  /// A folder, and the next one on the way to it when its path is longer than the kernel takes.
  static let tokensToList = 2

  private let budget: TokenBudget

  public var capacity: Int { budget.capacity }

  /// - Parameter capacity: descriptors, at least ``tokensToRead``.
  public init(capacity: Int) {
    budget = TokenBudget(capacity: max(capacity, Self.tokensToRead))
  }

  /// Waits until `count` descriptors are free, runs `body`, and frees them.
  public func withDescriptors<Result, Failure: Error>(
    _ count: Int, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try budget.withTokens(count, body)
  }
}
