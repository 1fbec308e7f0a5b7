import Dispatch
import Synchronization

/// The lanes of a run: each runs one operation at a time, and no more run at once than the limit says.
///
/// Operations that come when all lanes are busy stand by, and a lane that becomes free goes on with one
/// of them at once. So the way through the operation queue, two changes of thread, is not idle time.
final class LanePool: Sendable {
  /// How many operations may stand by: enough that a lane finds one.
  static let standby = 2

  private struct Work: Sendable {
    let body: @Sendable (Workbench) -> Void
    let completion: @Sendable () -> Void
  }

  private struct State {
    var free: [Lane] = []
    var waiting: [Work] = []
    var busy = 0
    var count = 0
    var limit: Int
  }

  private let state: Mutex<State>
  private let calls: any FileSystemCalls

  /// - Parameter limit: operations at once, 1 or more.
  init(limit: Int = .max, calls: any FileSystemCalls) {
    state = Mutex(State(limit: max(1, limit)))
    self.calls = calls
  }

  /// How many lanes have been made, which is how many operations have run at once at most.
  package var count: Int { state.withLock { $0.count } }

  /// How many operations run at once; a change holds from the next operation on.
  package var limit: Int {
    get { state.withLock { $0.limit } }
    set {
      state.withLock { $0.limit = max(1, newValue) }
      startWaiting()
    }
  }

  /// Runs `body` on a lane when one is free, then `completion`.
  package func run(
    _ body: @escaping @Sendable (Workbench) -> Void, completion: @escaping @Sendable () -> Void
  ) {
    state.withLock { $0.waiting.append(Work(body: body, completion: completion)) }
    startWaiting()
  }

  private func startWaiting() {
    while let (lane, work) = checkOut() {
      lane.queue.async { self.run(work, on: lane) }
    }
  }

  private func checkOut() -> (Lane, Work)? {
    state.withLock { state in
      guard state.busy < state.limit, !state.waiting.isEmpty else { return nil }
      state.busy += 1
      let work = state.waiting.removeFirst()
      if let lane = state.free.popLast() { return (lane, work) }
      state.count += 1
      return (Lane(number: state.count, calls: calls), work)
    }
  }

  private func run(_ first: Work, on lane: Lane) {
    guard let bench = Lane.workbench else { preconditionFailure("a lane has a bench") }
    var current: Work? = first
    while let work = current {
      work.body(bench)
      // The lane is free, or has found its next work, before others hear of the end.
      current = state.withLock { state in
        guard state.busy <= state.limit, !state.waiting.isEmpty else {
          state.busy -= 1
          state.free.append(lane)
          return nil
        }
        return state.waiting.removeFirst()
      }
      work.completion()
    }
  }
}
