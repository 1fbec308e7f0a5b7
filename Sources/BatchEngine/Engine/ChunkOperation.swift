import Foundation

/// The operation that processes one chunk on a lane.
final class ChunkOperation: AsynchronousOperation, @unchecked Sendable {
  /// How many items the chunk has; the depth of the queue is bounded by them.
  let itemCount: Int
  private let lanes: LanePool?
  private let body: @Sendable (Workbench) -> Void

  /// - Parameter lanes: where the body runs; nil for one that is started by ``run(on:)``.
  init(itemCount: Int, isLarge: Bool, lanes: LanePool?, body: @escaping @Sendable (Workbench) -> Void) {
    self.itemCount = itemCount
    self.lanes = lanes
    self.body = body
    super.init()
    // A file that no other core can help with has to begin before the small ones.
    queuePriority = isLarge ? .veryHigh : .normal
  }

  package override func execute() {
    guard let lanes else { return finish() }
    lanes.run(
      { bench in
        if !self.isCancelled { self.body(bench) }
      },
      completion: { self.finish() })
  }

  /// Runs the chunk on the calling thread.
  ///
  /// - Throws: `invalid` when the operation was started before.
  package func run(on bench: Workbench) throws(BatchError) {
    try startByHand {
      body(bench)
      finish()
    }
  }
}
