import Dispatch
import Synchronization

/// Scans folders that a walk will need soon, on a few serial queues.
///
/// Read-ahead is optional: the walk scans any folder that no read-ahead queue has begun.
final class FolderReadAhead: Sendable {
  /// The most folders that may wait or be ready; further ones are refused.
  private static let limit = 256

  private struct State {
    var waiting: [FolderTask] = []
    var idle: [DispatchQueue] = []
    /// Queues that exist, idle or not.
    var count = 0
    var outstanding = 0
    var isClosed = false

    /// An idle or new queue, if no more than `width` queues are used.
    mutating func queue(_ width: Int) -> DispatchQueue? {
      if let queue = idle.popLast() { return queue }
      guard count < width else { return nil }
      count += 1
      return DispatchQueue(label: "batchproc.walk.\(count)")
    }
  }

  private let state = Mutex(State())
  private let width: @Sendable () -> Int

  /// - Parameter width: how many folders are scanned at once; 0 disables read-ahead. Read each time, because it may change.
  init(width: @escaping @autoclosure @Sendable () -> Int) {
    self.width = width
  }

  /// Accepts a folder for scanning, if there is room.
  ///
  /// - Returns: whether it was accepted; then the walk calls ``retire()`` when it has used the folder.
  func offer(_ task: FolderTask) -> Bool {
    let width = self.width()
    let (isTaken, lane) = state.withLock { state -> (Bool, DispatchQueue?) in
      guard state.outstanding < Self.limit, !state.isClosed, width > 0 else { return (false, nil) }
      // Folders that the walk has already used stay in the list until a queue removes them.
      guard state.waiting.count < Self.limit else { return (false, nil) }
      state.outstanding += 1
      state.waiting.append(task)
      return (true, state.queue(width))
    }
    if let lane {
      // Weak: when the walk is released, no further folder is scanned for it.
      lane.async { [weak self] in
        while let task = self?.next(for: lane) { task.runAhead() }
      }
    }
    return isTaken
  }

  /// Makes room: the walk has used a folder that was accepted here.
  func retire() {
    state.withLock { $0.outstanding -= 1 }
  }

  /// Drops the folders that wait; running scans end by themselves.
  package func close() {
    state.withLock {
      $0.waiting = []
      $0.isClosed = true
    }
  }

  /// The next folder for a queue; nil makes it idle.
  private func next(for lane: DispatchQueue) -> FolderTask? {
    let width = self.width()
    return state.withLock { state in
      guard state.count <= width else {
        state.count -= 1
        return nil
      }
      // The newest is the deepest, and the walk goes down before it continues with siblings.
      guard let task = state.waiting.popLast() else {
        state.idle.append(lane)
        return nil
      }
      return task
    }
  }
}
