import Foundation

/// The operation that processes one chunk on a lane.
final class ChunkOperation: AsynchronousOperation, @unchecked Sendable {
  /// How many items the chunk has; the depth of the queue is bounded by them.
  let itemCount: Int
  /// Whether it begins before the others: a file that no other core can help with.
  let isLarge: Bool
  /// Which operation of the run it is, by the order in which they begin; set by the lanes.
  var turn = 0
  private let lanes: LanePool?
  private let body: @Sendable (Workbench) -> Void
  private let finished: @Sendable (_ itemCount: Int) -> Void

  /// - Parameters:
  ///   - lanes: where the body runs; nil for one that is started by ``run(on:)``.
  ///   - finished: called when the operation is finished, also after a cancellation.
  init(
    itemCount: Int, isLarge: Bool, lanes: LanePool?,
    finished: @escaping @Sendable (_ itemCount: Int) -> Void = { _ in },
    body: @escaping @Sendable (Workbench) -> Void
  ) {
    self.itemCount = itemCount
    self.isLarge = isLarge
    self.lanes = lanes
    self.finished = finished
    self.body = body
    super.init()
    queuePriority = isLarge ? .veryHigh : .normal
  }

  override func execute() {
    guard let lanes else { return finish() }
    lanes.run(self)
  }

  override func didFinish() { finished(itemCount) }

  /// Processes the chunk, unless the operation was cancelled; called on a lane.
  func process(on bench: Workbench) {
    if !isCancelled { body(bench) }
  }

  /// Runs the chunk on the calling thread.
  ///
  /// - Throws: `invalid` when the operation was started before.
  func run(on bench: Workbench) throws(BatchError) {
    try startByHand {
      body(bench)
      finish()
    }
  }
}
