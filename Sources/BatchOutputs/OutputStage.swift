import BatchEngine
import Dispatch
import Synchronization

/// Holds completed outputs of workers until the committer of the run commits them.
///
/// Each open output takes a place; if none is free, the staged outputs are committed at once. A place is the last resource
/// taken for an output: a thread that waits for a place may hold descriptors and memory, but a thread that holds a place waits
/// for neither.
package final class OutputStage: Sendable {
  /// Commits staged outputs. Only a collector creates one.
  protocol Receiver: AnyObject, Sendable {
    func take(_ output: WrittenOutput, as id: StagedOutput.ID)
    /// Commits everything that is staged.
    func flush()
  }

  private struct State {
    weak var receiver: (any Receiver)?
    var staged = 0
    var open = 0
    var waiting = 0
  }

  package let limit: Int
  private let cancellation: Cancellation
  private let state = Mutex(State())
  private let freed = DispatchSemaphore(value: 0)

  /// - Parameters:
  ///   - limit: outputs that are open at once, 1 or more.
  ///   - cancellation: ends the wait for a place.
  package init(limit: Int, cancellation: Cancellation) {
    self.limit = max(1, limit)
    self.cancellation = cancellation
    cancellation.onCancel { [weak self] in self?.release(0) }
  }

  /// Passes everything that is staged from now on to a committer.
  func begin(_ receiver: some Receiver) {
    state.withLock { $0.receiver = receiver }
  }

  /// Whether a thread waits for a place.
  var isShort: Bool { state.withLock { $0.waiting > 0 } }

  /// Takes a place for one more output; waits until one is free.
  ///
  /// - Parameter spare: how many places must stay free, if there is more than one place. For a large output, which stays open
  ///   while lanes finish small ones.
  /// - Throws: the reason, when the run stops before a place is free.
  package func reserve(sparing spare: Int = 0) throws(BatchError) {
    TokenOrder.place.take()
    let most = max(1, limit - spare)
    while true {
      let isTaken = state.withLock { state in
        guard state.open < most else {
          state.waiting += 1
          return false
        }
        state.open += 1
        return true
      }
      if isTaken { return }
      try cancellation.check()
      BlockingWait.run {
        receiver?.flush()
        freed.wait()
      }
    }
  }

  /// Gives back places of outputs that were committed or dropped.
  package func release(_ count: Int = 1) {
    let waiting = state.withLock { state in
      state.open -= count
      defer { state.waiting = 0 }
      return state.waiting
    }
    for _ in 0..<waiting { freed.signal() }
  }

  /// Adds a complete output, which keeps its place until it is committed.
  ///
  /// - Returns: its value in the rows of the run.
  package func add(_ output: WrittenOutput) -> StagedOutput {
    let (id, receiver) = state.withLock { state in
      state.staged += 1
      return (state.staged, state.receiver)
    }
    let staged = StagedOutput(
      id: id, source: output.source, read: output.read, identity: output.identity, isProved: output.isProved)
    receiver?.take(output, as: id)
    return staged
  }

  /// An id for an output that the collector commits in addition to those of workers.
  func nextID() -> StagedOutput.ID {
    state.withLock { state in
      state.staged += 1
      return state.staged
    }
  }

  private var receiver: (any Receiver)? { state.withLock { $0.receiver } }
}
