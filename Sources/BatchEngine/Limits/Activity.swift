import Synchronization

/// Whether a run makes progress, for a watch that checks periodically.
///
/// Each step between two items or two buffers sets a flag, which the watch clears.
package final class Activity: Sendable {
  private let hasMoved = Atomic<Bool>(false)
  private let waits = Atomic<Int>(0)

  /// Records a step. Cheap from any thread: the flag is written only once between two checks.
  func note() {
    if !hasMoved.load(ordering: .relaxed) { hasMoved.store(true, ordering: .relaxed) }
  }

  /// Whether there was a step since the last call.
  package func takeNote() -> Bool { hasMoved.exchange(false, ordering: .relaxed) }

  /// Whether the run waits for something that is expected to take long.
  package var isWaiting: Bool { waits.load(ordering: .relaxed) > 0 }

  /// Runs `body`, in which the run waits for another process: the holder of a lock, or a hook.
  package func whileWaiting<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    waits.add(1, ordering: .relaxed)
    defer { waits.subtract(1, ordering: .relaxed) }
    return try body()
  }
}
