/// The cancellation check for threads that help a lane with its item. They must not use the context of the chunk, which belongs
/// to the lane.
package struct CancellationProbe: Sendable {
  private let gate: LaneGate
  private let pool: LanePool?
  private let cancellation: Cancellation

  init(lane: Lane, cancellation: Cancellation) {
    gate = lane.gate
    pool = lane.pool
    self.cancellation = cancellation
  }

  /// Waits while the run is suspended; on the lane itself also while the allowed number of other operations runs.
  ///
  /// - Throws: the reason, when the run is to stop.
  package func check() throws(BatchError) {
    if gate.isCrowded { pool?.pass(Lane.current) }
    try cancellation.check()
  }
}

/// Checks the cancellation like ``WorkerContext/checkCancellation()``, for objects that a worker keeps from chunk to chunk. It finds the
/// lane on which it is called.
package struct LaneProbe: Sendable {
  private let cancellation: Cancellation

  init(_ cancellation: Cancellation) {
    self.cancellation = cancellation
  }

  package func check() throws(BatchError) {
    if let lane = Lane.current, lane.gate.isCrowded { lane.pool?.pass(lane) }
    try cancellation.check()
  }
}
