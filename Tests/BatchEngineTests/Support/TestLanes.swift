@testable import BatchEngine

extension Lane {
  /// A lane of a run that has no other lanes.
  convenience init(calls: any FileSystemCalls = LinuxCalls()) {
    self.init(run: RunContext(calls: calls))
  }
}

extension LanePool {
  convenience init(_ concurrency: ConcurrencyLimit = ConcurrencyLimit(.max)) {
    self.init(concurrency: concurrency, cancellation: Cancellation()) { Lane() }
  }

  /// Runs `body` on a lane when one is free, then `completion`.
  func run(_ body: @escaping @Sendable (Lane) -> Void, completion: @escaping @Sendable () -> Void) {
    ChunkOperation(itemCount: 1, isLarge: false, lanes: self, finished: completion, body: body)
      .start()
  }
}
