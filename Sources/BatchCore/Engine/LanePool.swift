import Dispatch
import Synchronization

/// The lanes of a run: one is checked out by each operation that runs, and new ones are made on demand.
final class LanePool: Sendable {
  private struct State {
    var free: [Lane] = []
    var count = 0
  }

  private let state = Mutex(State())
  private let calls: any FileSystemCalls

  init(calls: any FileSystemCalls) {
    self.calls = calls
  }

  /// How many lanes have been made, which is how many operations have run at once at most.
  var count: Int { state.withLock { $0.count } }

  /// Runs `body` on a free lane, then `completion` when the lane is free again.
  func run(
    _ body: @escaping @Sendable (Workbench) -> Void, completion: @escaping @Sendable () -> Void
  ) {
    let lane = checkOut()
    lane.queue.async {
      if let bench = Lane.workbench { body(bench) }
      self.state.withLock { $0.free.append(lane) }
      completion()
    }
  }

  private func checkOut() -> Lane {
    state.withLock { state in
      if let lane = state.free.popLast() { return lane }
      state.count += 1
      return Lane(number: state.count, calls: calls)
    }
  }
}
