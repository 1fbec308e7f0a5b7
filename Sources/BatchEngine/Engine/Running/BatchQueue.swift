import Dispatch
import Foundation
import Synchronization

/// Runs operations in bounded batches: the completion block of a batch admits the next one.
///
/// Only a bounded number of operations exists at a time, however long the source is: the window. Operations are added in arrays
/// and from one serial queue. A batch is half of the window: the operation whose end leaves half of the window free gets a
/// completion block, and that block admits the next batch. While operations run, only three other events admit more: a change
/// of the concurrency, room for results after a wait, and a checkpoint. The other operations have no block, because a block
/// needs its own thread. Only the number of operations that ended counts for a batch, so a slow operation does not delay the
/// next batch.
///
/// Between batches a barrier can run a checkpoint: all operations before it are finished, their results are delivered, and none
/// after it has been admitted. Requested items are admitted before it, because the collector may wait for them.
final class BatchQueue: Sendable {
  /// How much may be admitted at once.
  struct Depth: Sendable {
    /// Operations that wait or run.
    var operations: Int
    /// Operations that wait or run, for each operation of the concurrency, if that is more.
    var operationsPerLane: Int
    /// Items in these operations, which limits memory if strides are long; at least two operations for each lane.
    var items: Int
    /// Operations between two checkpoints; nil for no checkpoints.
    var perCheckpoint: Int?

    init(
      operations: Int = 64, operationsPerLane: Int = 1, items: Int = 32 << 10, perCheckpoint: Int? = nil
    ) {
      self.operations = operations
      self.operationsPerLane = operationsPerLane
      self.items = items
      self.perCheckpoint = perCheckpoint
    }
  }

  private struct State {
    var operations = 0
    var items = 0
    var sinceCheckpoint = 0
    var isExhausted = false
    var isAtBarrier = false
    /// Whether an admission is scheduled or running, so that none needs to be requested.
    var isAdmitting = false
    /// Whether an admission was requested since the last check for room.
    var isAskedAgain = false
    /// Whether the run is kept alive until there is room for results.
    var isWaitingForRoom = false
  }

  /// The operations that were admitted and are not finished; read by tests.
  package let operations = OperationQueue()
  /// Hands operations to lanes. One thread needs fewer switches for that than many.
  private let handover = DispatchQueue(label: "batchproc.handover")
  private let admission = DispatchQueue(label: "batchproc.admission")
  private let group = DispatchGroup()
  private let state = Mutex(State())
  private let depth: Depth
  private let concurrency: ConcurrencyLimit
  private let cancellation: Cancellation
  private let next: @Sendable (BatchQueue) -> ChunkOperation?
  private let hasRoom: @Sendable () -> Bool
  private let isAsked: @Sendable () -> Bool
  private let checkpoint: @Sendable () -> Void
  private let requestMore: @Sendable () -> Bool

  /// - Parameters:
  ///   - next: makes the next operation, which calls ``ending(itemCount:)`` and ``finished()`` of this queue; nil at the end
  ///     of the source. Called from one place, one call at a time.
  ///   - isAsked: whether `next` would make an operation of a requested item.
  ///   - hasRoom: whether the stage after the operations can take more; after false the run waits for ``roomAppeared()``.
  ///   - checkpoint: runs at the barrier after each ``Depth/perCheckpoint`` operations.
  ///   - requestMore: called when all operations are finished and their results are delivered; whether it requested items.
  init(
    concurrency: ConcurrencyLimit, depth: Depth = Depth(), cancellation: Cancellation,
    next: @escaping @Sendable (BatchQueue) -> ChunkOperation?,
    isAsked: @escaping @Sendable () -> Bool = { false },
    hasRoom: @escaping @Sendable () -> Bool = { true },
    checkpoint: @escaping @Sendable () -> Void = {},
    requestMore: @escaping @Sendable () -> Bool = { false }
  ) {
    self.depth = depth
    self.concurrency = concurrency
    self.cancellation = cancellation
    self.next = next
    self.isAsked = isAsked
    self.hasRoom = hasRoom
    self.checkpoint = checkpoint
    self.requestMore = requestMore
    operations.name = "batchproc.chunks"
    operations.underlyingQueue = handover
    followConcurrency()
  }

  /// Applies the number of operations, and whether they are suspended.
  private func followConcurrency() {
    operations.maxConcurrentOperationCount = concurrency.current + LanePool.standby
    // A cancelled queue is never suspended: its operations must end.
    operations.isSuspended = concurrency.isSuspended && !cancellation.isCancelled
    if cancellation.isCancelled { operations.isSuspended = false }
  }

  /// Runs until the source ends and all results are delivered, or the run is cancelled. Blocks the caller. Called once.
  package func run() {
    let changes = concurrency.onChange { [weak self] in
      self?.followConcurrency()
      self?.requestAdmission()
    }
    cancellation.onCancel { [weak self] in self?.stop() }
    concurrency.note(isExhausted: false)
    followConcurrency()
    requestAdmission()
    repeat { group.wait() } while addBarrierIfDue() || (!cancellation.isCancelled && requestMore())
    concurrency.forget(changes)
  }

  /// Called each time that `hasRoom` may have become true again; cheap when the queue does not wait.
  func roomAppeared() {
    let isAwaited = state.withLock { state in
      defer { state.isWaitingForRoom = false }
      if state.isWaitingForRoom { concurrency.note(hasMore: !state.isExhausted) }
      return state.isWaitingForRoom
    }
    guard isAwaited else { return }
    // The wait keeps the group entered until the next operations are admitted.
    admission.async {
      self.admit()
      self.group.leave()
    }
  }

  /// Called when the collector requested items, maybe after the end of the source.
  func itemsAppeared() {
    if reserveAdmission(ofMore: true) { admission.async { self.admitReserved() } }
  }

  /// Keeps the run alive until ``deliveryEnded()``, because the collector may request items. Called before results are delivered, on
  /// the thread of an operation.
  func deliveryBegins() { group.enter() }

  func deliveryEnded() { group.leave() }

  /// Whether an admission is scheduled or running; read by tests.
  var isAdmitting: Bool { state.withLock { $0.isAdmitting } }

  // MARK: On the admission queue

  private func admit() {
    var batch = [ChunkOperation]()
    while mayAdmit(), let operation = pull() {
      group.enter()
      batch.append(operation)
      // A source may be slow, for example a list from a pipe: lanes must not wait for the source while items are ready.
      if isHungry(without: batch.count) { add(&batch) }
    }
    add(&batch)
  }

  private func add(_ batch: inout [ChunkOperation]) {
    guard !batch.isEmpty else { return }
    operations.addOperations(batch, waitUntilFinished: false)
    batch = []
  }

  /// Whether the lanes may soon be idle.
  ///
  /// - Parameter held: operations that exist and have not been added to the queue.
  private func isHungry(without held: Int) -> Bool {
    let concurrency = concurrency.current
    return state.withLock { $0.operations - held < concurrency * 2 }
  }

  private func mayAdmit() -> Bool {
    // A checkpoint that is due does not wait for room, which a slow source may delay without limit.
    guard !cancellation.isCancelled, !isAtCheckpoint() else { return false }
    guard hasRoom() else {
      waitForRoom()
      return false
    }
    let concurrency = concurrency.current
    return state.withLock { state in
      guard !state.isExhausted else { return false }
      guard state.operations < Self.most(depth, concurrency) else { return false }
      return state.items < depth.items || state.operations < concurrency * 2
    }
  }

  private func isAtCheckpoint() -> Bool {
    state.withLock { state in
      if state.isAtBarrier { return true }
      guard let limit = depth.perCheckpoint, state.sinceCheckpoint >= limit else { return false }
      return !isAsked()
    }
  }

  /// Keeps the run alive: the last operation may end before there is room for the next one.
  private func waitForRoom() {
    let isNew = state.withLock { state in
      guard !state.isExhausted, !state.isWaitingForRoom else { return false }
      group.enter()
      state.isWaitingForRoom = true
      concurrency.note(hasMore: false)
      return true
    }
    // Room may have appeared, or the run been cancelled, just before the wait was recorded.
    if isNew, cancellation.isCancelled || hasRoom() { roomAppeared() }
  }

  private func pull() -> ChunkOperation? {
    let operation = next(self)
    state.withLock { state in
      guard let operation else {
        // An item may have been requested after the source had ended. A later request finds that the source is exhausted.
        state.isExhausted = !isAsked()
        concurrency.note(isExhausted: state.isExhausted)
        return
      }
      state.operations += 1
      state.items += operation.itemCount
      state.sinceCheckpoint += 1
    }
    return operation
  }

  // MARK: The end of an operation, on its thread

  /// Counts an operation that is about to be finished.
  ///
  /// - Returns: its completion block, which admits the next batch; nil while more than half of the window is in use, while an
  ///   admission is scheduled, and at the end of the source.
  func ending(itemCount: Int) -> (@Sendable () -> Void)? {
    let concurrency = concurrency.current
    let isLow = state.withLock { state in
      state.operations -= 1
      state.items -= itemCount
      return state.operations <= max(Self.most(depth, concurrency) / 2, concurrency * 2)
    }
    guard isLow, reserveAdmission() else { return nil }
    // The block must not capture the operation: they would keep each other alive forever. It admits on its own thread, because
    // on a busy machine each change of threads delays the lanes.
    return { self.admission.sync { self.admitReserved() } }
  }

  /// Called when an operation is finished and Foundation was notified. The run may end with this call, so the completion block
  /// was reserved before.
  func finished() { group.leave() }

  /// Admits as many operations as there is room for, unless an admission is scheduled.
  private func requestAdmission() {
    if reserveAdmission() { admission.async { self.admitReserved() } }
  }

  /// Keeps the run alive until ``admitReserved()`` has ended.
  ///
  /// - Parameter ofMore: whether there are more items, maybe after the end of the source.
  /// - Returns: false while another admission is scheduled, and at the end of the source.
  private func reserveAdmission(ofMore: Bool = false) -> Bool {
    state.withLock { state in
      // The delivery in which the request is made keeps the run alive until the admission does.
      if ofMore, state.isExhausted {
        state.isExhausted = false
        concurrency.note(isExhausted: false)
      }
      guard !state.isExhausted else { return false }
      guard !state.isAdmitting else {
        state.isAskedAgain = true
        return false
      }
      state.isAdmitting = true
      group.enter()
      return true
    }
  }

  /// On the admission queue.
  private func admitReserved() {
    // If the source is slower than the lanes, operations end all the time: one admission serves all of them.
    repeat {
      state.withLock { $0.isAskedAgain = false }
      admit()
    } while state.withLock { state in
      state.isAdmitting = state.isAskedAgain && !state.isExhausted
      return state.isAdmitting
    }
    group.leave()
  }

  private static func most(_ depth: Depth, _ concurrency: Int) -> Int {
    max(depth.operations, concurrency * depth.operationsPerLane)
  }

  /// Adds a barrier that runs the checkpoint and admits the next operations, if operations have ended since the last one. Called when
  /// nothing is left of what was admitted.
  private func addBarrierIfDue() -> Bool {
    let isDue = state.withLock { state in
      state.isAtBarrier = depth.perCheckpoint != nil && state.sinceCheckpoint > 0
      return state.isAtBarrier
    }
    guard isDue, !cancellation.isCancelled else { return false }
    group.enter()
    operations.addBarrierBlock {
      if !self.cancellation.isCancelled { self.checkpoint() }
      self.state.withLock { state in
        state.isAtBarrier = false
        state.sinceCheckpoint = 0
      }
      self.requestAdmission()
      self.group.leave()
    }
    return true
  }

  private func stop() {
    // A cancelled barrier would never run its block, so at a barrier the operations check the cancellation themselves.
    if !state.withLock({ $0.isAtBarrier }) { operations.cancelAllOperations() }
    operations.isSuspended = false
    roomAppeared()
  }
}
