import Dispatch
import Synchronization

/// Scans folders that a walk will need soon, on a few serial queues.
///
/// It is help and never a condition: a folder that nobody has begun is scanned by the walk itself.
final class FolderReadAhead: Sendable {
  /// Folders that may wait or lie ready; more are not taken.
  private static let limit = 256

  private struct State {
    var waiting: [FolderTask] = []
    var idle: [DispatchQueue]
    var outstanding = 0
    var isClosed = false
    let hasLanes: Bool
  }

  private let state: Mutex<State>

  /// - Parameter width: how many folders are scanned at once; 0 takes none.
  init(width: Int) {
    let lanes = (0..<max(0, width)).map { DispatchQueue(label: "batchproc.walk.\($0)") }
    state = Mutex(State(idle: lanes, hasLanes: !lanes.isEmpty))
  }

  /// Takes a folder to be scanned soon, if there is room.
  ///
  /// - Returns: whether it was taken; then ``retire()`` is called when the walk has used it.
  func offer(_ task: FolderTask) -> Bool {
    let (isTaken, lane) = state.withLock { state -> (Bool, DispatchQueue?) in
      guard state.outstanding < Self.limit, !state.isClosed, state.hasLanes else { return (false, nil) }
      // Folders that the walk has used already stay in line until a lane comes by.
      guard state.waiting.count < Self.limit else { return (false, nil) }
      state.outstanding += 1
      state.waiting.append(task)
      return (true, state.idle.popLast())
    }
    if let lane {
      // Weak: when the walk is given up, nothing more is begun for it.
      lane.async { [weak self] in
        while let task = self?.next(for: lane) { task.runIfWaiting() }
      }
    }
    return isTaken
  }

  /// Makes room: the walk has used a folder that was taken here.
  func retire() {
    state.withLock { $0.outstanding -= 1 }
  }

  /// Forgets what waits; what runs ends by itself.
  package func close() {
    state.withLock {
      $0.waiting = []
      $0.isClosed = true
    }
  }

  /// What a lane does next; nil sends it to rest.
  private func next(for lane: DispatchQueue) -> FolderTask? {
    state.withLock { state in
      // The newest lies deepest, and the walk goes down before it goes on.
      guard let task = state.waiting.popLast() else {
        state.idle.append(lane)
        return nil
      }
      return task
    }
  }
}
