import Foundation

/// The operation that processes one chunk on a lane.
package final class ChunkOperation: AsynchronousOperation, @unchecked Sendable {
  /// How many items the chunk has; the queue limits the sum of these.
  let itemCount: Int
  /// Whether it begins before the others, because it has one large file that only one core can process.
  let isLarge: Bool
  /// The position of the operation in the order in which operations begin; set by the lanes.
  var turn = 0
  private let lanes: LanePool?
  private let body: @Sendable (Lane) -> Void
  private let ending: @Sendable (_ itemCount: Int) -> (@Sendable () -> Void)?
  private let finished: @Sendable () -> Void

  /// - Parameters:
  ///   - lanes: where the body runs; nil for an operation that ``run(on:)`` starts.
  ///   - ending: called once just before the operation finishes, also after a cancellation; returns its completion block, or
  ///     nil.
  ///   - finished: called when the operation is finished, also after a cancellation.
  init(
    itemCount: Int, isLarge: Bool, lanes: LanePool?,
    ending: @escaping @Sendable (_ itemCount: Int) -> (@Sendable () -> Void)? = { _ in nil },
    finished: @escaping @Sendable () -> Void = {},
    body: @escaping @Sendable (Lane) -> Void
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

  /// Called before ``finish()``: as soon as the operation is finished, any thread of Foundation may take its completion block,
  /// even before the queue is notified.
  private func takeCompletionBlock() {
    if let block = ending(itemCount) { completionBlock = block }
  }

  override func didFinish() { finished() }

  /// Processes the chunk, unless the operation was cancelled; called on a lane.
  func process(on lane: Lane) {
    if !isCancelled { body(lane) }
  }

  /// Runs the chunk on the calling thread.
  ///
  /// - Throws: `invalid` when the operation was started before.
  func run(on lane: Lane) throws(BatchError) {
    try startByHand {
      body(lane)
      end()
    }
  }
}
