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
  private let ending: @Sendable (_ itemCount: Int) -> (@Sendable () -> Void)?
  private let finished: @Sendable () -> Void

  /// - Parameters:
  ///   - lanes: where the body runs; nil for one that is started by ``run(on:)``.
  ///   - ending: called once just before the operation is finished, also after a cancellation; makes its completion block,
  ///     nil for none.
  ///   - finished: called when the operation is finished, also after a cancellation.
  init(
    itemCount: Int, isLarge: Bool, lanes: LanePool?,
    ending: @escaping @Sendable (_ itemCount: Int) -> (@Sendable () -> Void)? = { _ in nil },
    finished: @escaping @Sendable () -> Void = {},
    body: @escaping @Sendable (Workbench) -> Void
  ) {
    self.itemCount = itemCount
    self.isLarge = isLarge
    self.lanes = lanes
    self.ending = ending
    self.finished = finished
    self.body = body
    super.init()
    queuePriority = isLarge ? .veryHigh : .normal
  }

  override func execute() {
    guard let lanes else { return end() }
    lanes.run(self)
  }

  override func cancelledBeforeStart() { takeCompletionBlock() }

  /// Finishes the operation; called on the lane that processed it.
  func end() {
    takeCompletionBlock()
    finish()
  }

  /// To be called before ``finish()``: as soon as the operation says that it is finished, any thread of Foundation may look
  /// for its completion block, also before the one that finishes it gives notice.
  private func takeCompletionBlock() {
    if let block = ending(itemCount) { completionBlock = block }
  }

  override func didFinish() { finished() }

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
      end()
    }
  }
}
