import Dispatch
import Synchronization

/// The lanes of a run: each runs one operation at a time, and no more run at once than the concurrency says.
///
/// Operations that come when all lanes are busy stand by, and a lane that becomes free goes on with one
/// of them at once. So the way through the operation queue, two changes of thread, is not idle time.
final class LanePool: Sendable {
  /// How many operations may stand by: enough that a lane finds one, however short they are.
  static let standby = 32

  private struct State {
    var free: [Lane] = []
    /// Operations that stand by, in the order in which they came; `first` is the next one.
    var waiting: [ChunkOperation] = []
    var first = 0
    /// Those of them that go first.
    var urgent: [ChunkOperation] = []
    var busy = 0
    var count = 0
  }

  private let state = Mutex(State())
  private let concurrency: ConcurrencyLimit
  private let cancellation: Cancellation
  private let makeBench: @Sendable () -> Workbench

  /// - Parameters:
  ///   - cancellation: lets operations that are held back come to their end.
  ///   - makeBench: makes what belongs to a lane.
  init(
    concurrency: ConcurrencyLimit, cancellation: Cancellation,
    makeBench: @escaping @Sendable () -> Workbench
  ) {
    self.concurrency = concurrency
    self.cancellation = cancellation
    self.makeBench = makeBench
  }

  /// How many lanes have been made, which is how many operations have run at once at most.
  var count: Int { state.withLock { $0.count } }

  /// How many lanes are at work.
  var busy: Int { state.withLock { $0.busy } }

  /// How many operations wait for a lane.
  var standingBy: Int { state.withLock { $0.urgent.count + $0.waiting.count - $0.first } }

  /// Runs an operation on a lane when one is free.
  func run(_ operation: ChunkOperation) {
    state.withLock { state in
      if operation.isLarge { state.urgent.append(operation) } else { state.waiting.append(operation) }
    }
    startWaiting()
  }

  /// Puts lanes to work on what stands by, as many as the concurrency allows; to be called when that has changed.
  func startWaiting() {
    while let (lane, operation) = next() {
      lane.queue.async { self.run(operation, on: lane) }
    }
  }

  /// How many operations may run now.
  private var limit: Int {
    concurrency.isSuspended && !cancellation.isCancelled ? 0 : concurrency.current
  }

  /// The next operation and a lane for it, as long as one more may run.
  ///
  /// - Parameter lane: one that has just ended an operation: it goes on with the next one, or is free.
  private func next(on lane: Lane? = nil) -> (Lane, ChunkOperation)? {
    let limit = self.limit
    return state.withLock { state in
      if lane != nil { state.busy -= 1 }
      guard state.busy < limit, !state.urgent.isEmpty || state.first < state.waiting.count else {
        if let lane { state.free.append(lane) }
        return nil
      }
      state.busy += 1
      let operation: ChunkOperation
      if state.urgent.isEmpty {
        operation = state.waiting[state.first]
        state.first += 1
        if state.first == state.waiting.count {
          state.waiting.removeAll(keepingCapacity: true)
          state.first = 0
        }
      } else {
        operation = state.urgent.removeFirst()
      }
      if let lane = lane ?? state.free.popLast() { return (lane, operation) }
      state.count += 1
      return (Lane(number: state.count, bench: makeBench()), operation)
    }
  }

  private func run(_ first: ChunkOperation, on lane: Lane) {
    guard let bench = Lane.workbench else { preconditionFailure("a lane has a bench") }
    var current: ChunkOperation? = first
    while let operation = current {
      operation.process(on: bench)
      bench.restIfAwaited()
      // The lane is free, or has found its next work, before others hear of the end. Another operation that it is given
      // waits in its queue until this block ends.
      current = next(on: lane)?.1
      if current == nil { bench.rest() }
      operation.finish()
    }
    // A change of the concurrency between the look at it and the lock would leave what stands by to nobody.
    startWaiting()
  }
}
