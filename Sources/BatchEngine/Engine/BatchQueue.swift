import Dispatch
import Foundation
import Synchronization

/// Runs operations in bounded batches: the completion of operations admits the next ones.
///
/// Only a bounded number of operations exists at a time, whatever the length of the source. Operations
/// are added in arrays and from one serial queue. Between batches a barrier can run a checkpoint, when
/// everything before it is finished and nothing after it has been admitted.
final class BatchQueue: Sendable {
  /// How much may be admitted at once.
  struct Depth: Sendable {
    /// Operations that wait or run.
    package var operations: Int
    /// Items in them, which bounds memory where strides are long; never less than two operations a lane.
    package var items = 32 << 10
    /// Operations from one checkpoint to the next; nil for none.
    var perCheckpoint: Int?
  }

  private struct State {
    var operations = 0
    var items = 0
    var sinceCheckpoint = 0
    var isExhausted = false
    var isAtBarrier = false
    /// Whether the run is kept alive until there is room behind the operations.
    var isWaitingForRoom = false
  }

  /// Those that were admitted and are not finished; for tests to look at.
  package let operations = OperationQueue()
  private let admission = DispatchQueue(label: "batchproc.admission")
  private let group = DispatchGroup()
  private let state = Mutex(State())
  private let depth: Depth
  private let cancellation: Cancellation
  private let next: @Sendable () -> ChunkOperation?
  private let hasRoom: @Sendable () -> Bool
  private let checkpoint: @Sendable () -> Void

  /// - Parameters:
  ///   - next: makes the next operation, nil at the end; called from one place, one call at a time.
  ///   - hasRoom: whether what comes behind the operations can take more; after a false the run waits
  ///     for ``roomAppeared()``.
  ///   - checkpoint: runs at the barrier after each ``Depth/perCheckpoint`` operations.
  init(
    concurrency: Int, depth: Depth, cancellation: Cancellation,
    next: @escaping @Sendable () -> ChunkOperation?,
    hasRoom: @escaping @Sendable () -> Bool = { true },
    checkpoint: @escaping @Sendable () -> Void = {}
  ) {
    self.depth = depth
    self.cancellation = cancellation
    self.next = next
    self.hasRoom = hasRoom
    self.checkpoint = checkpoint
    operations.name = "batchproc.chunks"
    operations.maxConcurrentOperationCount = max(1, concurrency)
  }

  /// How many operations run at once; a change holds from the next operation on.
  package var concurrency: Int {
    get { operations.maxConcurrentOperationCount }
    set { operations.maxConcurrentOperationCount = max(1, newValue) }
  }

  /// While true no operation begins; those that run go on.
  var isSuspended: Bool {
    get { operations.isSuspended }
    set {
      operations.isSuspended = newValue
      // After the change, so that a cancellation at the same moment never leaves the queue suspended.
      if cancellation.isCancelled { operations.isSuspended = false }
    }
  }

  /// Runs the source to its end, or to where the cancellation stops it. Blocks the caller.
  package func run() {
    cancellation.onCancel { [weak self] in self?.stop() }
    group.enter()
    admission.async {
      self.admit()
      self.group.leave()
    }
    group.wait()
  }

  /// To be called each time that `hasRoom` may have turned true again; costs little when nobody waits.
  func roomAppeared() {
    let isAwaited = state.withLock { state in
      defer { state.isWaitingForRoom = false }
      return state.isWaitingForRoom
    }
    guard isAwaited else { return }
    // The place in the group that the waiting held is given up when the next ones are admitted.
    admission.async {
      self.admit()
      self.group.leave()
    }
  }

  // MARK: On the admission queue

  private func admit() {
    var batch = [ChunkOperation]()
    while mayAdmit(), let operation = pull() {
      group.enter()
      // The operation must not be captured: its completion block would keep it for ever.
      let items = operation.itemCount
      operation.completionBlock = { [weak self] in self?.completed(items: items) }
      batch.append(operation)
      // A source may take its time, as a list that comes through a pipe: lanes that could run what is
      // there already must not wait for more.
      if isHungry(without: batch.count) {
        operations.addOperations(batch, waitUntilFinished: false)
        batch = []
      }
    }
    if !batch.isEmpty { operations.addOperations(batch, waitUntilFinished: false) }
    addBarrierIfDue()
  }

  /// Whether the lanes may soon have nothing to do.
  ///
  /// - Parameter held: operations that exist and have not been handed to the queue.
  private func isHungry(without held: Int) -> Bool {
    let concurrency = operations.maxConcurrentOperationCount
    return state.withLock { $0.operations - held < concurrency * 2 }
  }

  private func mayAdmit() -> Bool {
    guard !cancellation.isCancelled else { return false }
    guard hasRoom() else {
      waitForRoom()
      return false
    }
    let concurrency = operations.maxConcurrentOperationCount
    return state.withLock { state in
      guard !state.isExhausted, !state.isAtBarrier else { return false }
      if let limit = depth.perCheckpoint, state.sinceCheckpoint >= limit { return false }
      guard state.operations < max(depth.operations, concurrency) else { return false }
      return state.items < depth.items || state.operations < concurrency * 2
    }
  }

  /// Keeps the run alive: the last operation may end before there is room for the next one.
  private func waitForRoom() {
    let isNew = state.withLock { state in
      guard !state.isExhausted, !state.isWaitingForRoom else { return false }
      group.enter()
      state.isWaitingForRoom = true
      return true
    }
    // The room or the cancellation may have come just before anybody could know that it is awaited.
    if isNew, cancellation.isCancelled || hasRoom() { roomAppeared() }
  }

  private func pull() -> ChunkOperation? {
    let operation = next()
    state.withLock { state in
      guard let operation else {
        state.isExhausted = true
        return
      }
      state.operations += 1
      state.items += operation.itemCount
      state.sinceCheckpoint += 1
    }
    return operation
  }

  private func completed(items: Int) {
    // At once, so that an admission that is going on sees it.
    state.withLock { state in
      state.operations -= 1
      state.items -= items
    }
    admission.async {
      self.admit()
      // Last, so that the group cannot run empty while there is something to admit.
      self.group.leave()
    }
  }

  private func addBarrierIfDue() {
    let isDue = state.withLock { state in
      guard let limit = depth.perCheckpoint, !state.isAtBarrier else { return false }
      let isFull = state.sinceCheckpoint >= limit
      let isLast = state.isExhausted && state.sinceCheckpoint > 0
      guard isFull || isLast else { return false }
      state.isAtBarrier = true
      return true
    }
    guard isDue, !cancellation.isCancelled else { return }
    group.enter()
    operations.addBarrierBlock {
      if !self.cancellation.isCancelled { self.checkpoint() }
      self.admission.async {
        self.state.withLock { state in
          state.isAtBarrier = false
          state.sinceCheckpoint = 0
        }
        self.admit()
        self.group.leave()
      }
    }
  }

  private func stop() {
    // A barrier that is cancelled never runs its block: then the operations see the cancellation themselves.
    if !state.withLock({ $0.isAtBarrier }) { operations.cancelAllOperations() }
    operations.isSuspended = false
    roomAppeared()
  }
}
