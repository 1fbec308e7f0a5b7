import Dispatch
import Synchronization

extension RunContext {
  /// Calls a function for each number below a count, on as many threads as the run may have lanes. Each thread takes every nth number.
  ///
  /// - Parameter least: how many calls are worth a thread.
  /// - Returns: the results in the order of the numbers.
  package func strides<Result: Sendable>(
    _ count: Int, least: Int, _ body: @Sendable (Int) -> Result
  ) -> [Result] {
    let lanes = affordable(min(concurrency.current, count / max(1, least)))
    guard lanes > 1 else { return (0..<max(0, count)).map(body) }
    let found = Mutex<[Int: [Result]]>([:])
    DispatchQueue.concurrentPerform(iterations: lanes) { lane in
      let own = stride(from: lane, to: count, by: lanes).map(body)
      found.withLock { $0[lane] = own }
    }
    let results = found.withLock { $0 }
    return (0..<count).compactMap { results[$0 % lanes]?[$0 / lanes] }
  }
}

extension CollectorContext {
  /// As ``RunContext/strides(_:least:_:)``, for short steps that a collector takes after all rows.
  package func strides<Result: Sendable>(
    _ count: Int, least: Int, _ body: @Sendable (Int) -> Result
  ) -> [Result] {
    run.strides(count, least: least, body)
  }
}
