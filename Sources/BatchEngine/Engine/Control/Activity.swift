import Synchronization

/// Whether a run makes progress, for a watch that looks from time to time.
///
/// Each step between two items or two buffers sets a flag, which the watch clears.
package final class Activity: Sendable {
  private let hasMoved = Atomic<Bool>(false)
  private let waits = Atomic<Int>(0)

  /// Notes a step. Cheap from any thread: the flag is written once between two looks.
  func note() {
    if !hasMoved.load(ordering: .relaxed) { hasMoved.store(true, ordering: .relaxed) }
  }

  /// Whether there was a step since the last call.
  package func takeNote() -> Bool { hasMoved.exchange(false, ordering: .relaxed) }

  /// Whether the run waits for something that may take long by its nature.
  package var isWaiting: Bool { waits.load(ordering: .relaxed) > 0 }

  /// Runs `body`, in which the run waits for another process: for the holder of a lock, or for a hook.
  package func whileWaiting<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    waits.add(1, ordering: .relaxed)
    defer { waits.subtract(1, ordering: .relaxed) }
    return try body()
  }
}
