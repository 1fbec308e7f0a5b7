import BatchEngine
import Synchronization

/// How many parts of large files the lanes of a run decode at a time: two for each lane if there is one file, one for each lane
/// if there are several files, which already keep the lanes busy.
final class PartBudget: Sendable {
  private static let partsPerLane = 2
  /// Bytes for contents that are larger than usual.
  private static let spareMemory = 64 << 20
  private static let spareMemoryOfLane = 16 << 20

  private let files = Atomic<Int>(0)
  private let spareInUse = Atomic<Int>(0)
  private let tokens = AtomicLazyReference<TokenBudget>()

  /// Counts a file whose decoding in parts begins; ``end()`` follows.
  func begin() { files.add(1, ordering: .relaxed) }

  func end() { files.subtract(1, ordering: .relaxed) }

  /// How many parts one file may have in memory now, 1 or more.
  func share(concurrency: Int) -> Int {
    let files = files.load(ordering: .relaxed)
    return files > 1 ? max(1, concurrency / files) : Self.capacity(concurrency)
  }

  /// Waits until this many parts may be in memory, then runs `body`.
  func with<Result>(
    _ count: Int, concurrency: Int, _ body: () throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    let budget =
      tokens.load() ?? tokens.storeIfNil(TokenBudget(capacity: Self.capacity(concurrency)))
    return try budget.withTokens(count, body)
  }

  /// Reserves memory for content that is larger than usual, from an amount that all files of the run share; ``release(_:)``
  /// follows.
  ///
  /// - Returns: false if that much is not left.
  func reserve(_ bytes: Int, concurrency: Int) -> Bool {
    let lanes = max(1, min(concurrency, 1 << 16))
    let most = max(
      Self.spareMemory, lanes.multipliedReportingOverflow(by: Self.spareMemoryOfLane).partialValue)
    guard bytes <= most else { return false }
    guard spareInUse.add(bytes, ordering: .relaxed).newValue <= most else {
      release(bytes)
      return false
    }
    return true
  }

  func release(_ bytes: Int) { spareInUse.subtract(bytes, ordering: .relaxed) }

  private static func capacity(_ concurrency: Int) -> Int { partsPerLane * max(1, min(concurrency, 1 << 16)) }
}
