import Dispatch
import Synchronization

/// The lanes of a run. Each runs one operation at a time; the concurrency limits how many run at once.
///
/// Operations that arrive when all lanes are busy stand by, and a lane that becomes free starts one of them immediately. So no
/// lane is idle while the operation queue switches threads twice.
///
/// When the concurrency falls, or the run is suspended, lanes wait within their operations, between two files or buffers,
/// because an operation may take minutes. A waiting lane keeps its tokens. An operation that waits for these tokens does not
/// count as running, so that the lane can continue.
package final class LanePool: Sendable {
  /// How many operations may stand by: enough for each free lane to find one, even if operations are short.
  static let standby = 32

  private struct State {
    var free: [DispatchQueue] = []
    /// Operations that stand by, in the order in which they came: few, so removing the first one of them costs little.
    var waiting: [ChunkOperation] = []
    /// Large operations, which start first.
    var urgent: [ChunkOperation] = []
    var busy = 0
    var count = 0
    /// Operations that have begun so far.
    var turns = 0
    /// Lanes that wait within their operation, and helper threads that wait while the run is suspended.
    var held: [(turn: Int, signal: DispatchSemaphore)] = []
    var helpers: [DispatchSemaphore] = []
    /// Lanes that wait for tokens or other things that another lane holds.
    var blocked = 0
  }

  private let state = Mutex(State())
  private let concurrency: ConcurrencyLimit
  private let cancellation: Cancellation
  private let gate = LaneGate()
  private let mostLanes: Int
  private let makeLane: @Sendable () -> Lane

  /// - Parameters:
  ///   - most: the most lanes that work at once; nil for as many as the concurrency.
  ///   - cancellation: lets operations that are held back end.
  init(
    concurrency: ConcurrencyLimit, most: Int? = nil, cancellation: Cancellation,
    makeLane: @escaping @Sendable () -> Lane
  ) {
    mostLanes = most ?? .max
    self.concurrency = concurrency
    self.cancellation = cancellation
    self.makeLane = makeLane
  }

  /// How many lanes have been made: the most operations that have run at once.
  var count: Int { state.withLock { $0.count } }

  var busy: Int { state.withLock { $0.busy } }

  /// How many operations wait for a lane.
  var standingBy: Int { state.withLock { $0.urgent.count + $0.waiting.count } }

  /// Runs an operation on a lane when one is free.
  func run(_ operation: ChunkOperation) {
    state.withLock { state in
      if operation.isLarge { state.urgent.append(operation) } else { state.waiting.append(operation) }
    }
    startWaiting()
  }

  /// Starts operations that stand by, as many as the concurrency allows. Called when the concurrency has changed.
  func startWaiting() {
    if concurrency.memoryHalvings > 0 { freeIdleLanes() }
    letGoOn()
    while let (queue, operation) = next() {
      queue.async { self.run(operation, on: queue) }
    }
  }

  /// How many operations may run now. Read inside the lock: code that changes the concurrency takes the lock afterwards, so the
  /// last change takes effect.
  private var limit: Int {
    concurrency.isSuspended && !cancellation.isCancelled ? 0 : min(concurrency.current, mostLanes)
  }

  /// The next operation and the queue of a lane for it, as long as one more may run.
  ///
  /// - Parameter queue: the queue of a lane that has just ended an operation. The lane gets the next operation, or becomes free.
  private func next(on queue: DispatchQueue? = nil) -> (DispatchQueue, ChunkOperation)? {
    let next = state.withLock { state -> (DispatchQueue, ChunkOperation)? in
      let limit = self.limit
      if queue != nil { state.busy -= 1 }
      defer { concurrency.note(running: state.busy - state.held.count - state.blocked) }
      guard state.held.isEmpty, state.busy < limit, !state.urgent.isEmpty || !state.waiting.isEmpty else {
        if let queue { state.free.append(queue) }
        return nil
      }
      let operation = state.urgent.isEmpty ? state.waiting.removeFirst() : state.urgent.removeFirst()
      state.busy += 1
      state.turns += 1
      operation.turn = state.turns
      if let queue = queue ?? state.free.popLast() { return (queue, operation) }
      state.count += 1
      return (makeQueue(number: state.count), operation)
    }
    // When a lane becomes idle, a held-back lane may continue in its place.
    if queue != nil, next == nil { letGoOn() }
    return next
  }

  /// Frees the lanes that cannot get an operation at the current limit, with their buffers and workers.
  private func freeIdleLanes() {
    let freed = state.withLock { state in
      let count = min(state.free.count, max(0, state.busy + state.free.count - max(1, limit)))
      defer { state.free.removeLast(count) }
      return Array(state.free.suffix(count))
    }
    // A lane is freed with its queue, outside of the lock: it gives tokens back.
    _ = consume freed
  }

  /// A queue beside the lanes, whose work waits only while the run is suspended.
  func makeHelper() -> DispatchQueue { makeQueue(number: nil) }

  private func makeQueue(number: Int?) -> DispatchQueue {
    let lane = makeLane()
    lane.pool = self
    lane.gate = gate
    if number == nil { lane.turn = nil }
    return lane.makeQueue(number: number)
  }

  // MARK: Lanes that wait within an operation

  /// Waits until the lane may go on; to be called before each file, buffer and slice of work while
  /// ``LaneGate/isCrowded``.
  ///
  /// - Parameter lane: the calling lane; nil on a thread that helps a lane. The lane of a helper queue has no turn.
  func pass(_ lane: Lane?) {
    let turn = lane?.turn
    letGoOn()
    let signal = state.withLock { state -> DispatchSemaphore? in
      let limit = self.limit
      guard turn == nil ? limit == 0 : state.busy - state.held.count - state.blocked > limit else {
        return nil
      }
      let signal = DispatchSemaphore(value: 0)
      if let turn {
        let place = state.held.firstIndex { $0.turn > turn } ?? state.held.count
        state.held.insert((turn, signal), at: place)
      } else {
        state.helpers.append(signal)
      }
      return signal
    }
    guard let signal else { return }
    let start = ContinuousClock.now
    letGoOn()
    signal.wait()
    lane?.heldTime += ContinuousClock.now - start
  }

  /// Counts a lane as waiting for another one.
  func block() {
    state.withLock { $0.blocked += 1 }
    letGoOn()
  }

  func unblock() {
    state.withLock { $0.blocked -= 1 }
    letGoOn()
  }

  /// Resumes held-back lanes, those with the oldest operations first, as many as may run.
  private func letGoOn() {
    state.withLock { state in
      let limit = self.limit
      var running = state.busy - state.held.count - state.blocked
      while running < limit, let next = state.held.first {
        state.held.removeFirst()
        next.signal.signal()
        running += 1
      }
      if limit > 0, !state.helpers.isEmpty {
        for helper in state.helpers { helper.signal() }
        state.helpers = []
      }
      concurrency.note(running: running)
      gate.set(isCrowded: running > limit || limit == 0)
    }
  }

  private func run(_ first: ChunkOperation, on queue: DispatchQueue) {
    guard let lane = Lane.current else { preconditionFailure("the queue belongs to a lane") }
    var current: ChunkOperation? = first
    while let operation = current {
      lane.turn = operation.turn
      operation.process(on: lane)
      lane.restIfAwaited()
      // The lane is free, or has its next operation, before the end is reported. If it gets another operation, that one waits
      // in its queue until this block ends.
      current = next(on: queue)?.1
      if current == nil { lane.rest() }
      operation.end()
    }
    // If lanes were held back, there may be room now for operations that stand by.
    startWaiting()
  }
}
