import Dispatch
import Synchronization

/// Delivers results in the order of their indices, one at a time, however they arrive.
///
/// A serial queue stands in for a lock: results may come from any thread, and `deliver` is never called
/// twice at once. One turn of the queue delivers all that is due.
final class OrderedSink<Value: Sendable>: Sendable {
  private struct State {
    var arrived: [Int: Value] = [:]
    var next = 0
    var isScheduled = false
  }

  private let state = Mutex(State())
  private let queue: DispatchQueue
  private let deliver: @Sendable (Int, Value) -> Void
  private let drained: @Sendable () -> Void

  /// - Parameters:
  ///   - queue: a serial one, on which everything is delivered.
  ///   - drained: called after each turn that delivered everything that was due.
  ///   - deliver: called with index 0, 1, 2 … without a gap.
  init(
    on queue: DispatchQueue = DispatchQueue(label: "batchproc.sink"),
    drained: @escaping @Sendable () -> Void = {}, deliver: @escaping @Sendable (Int, Value) -> Void
  ) {
    self.queue = queue
    self.drained = drained
    self.deliver = deliver
  }

  /// Results that have arrived but are not delivered yet: those behind a gap, and those in the queue.
  var backlog: Int { state.withLock { $0.arrived.count } }

  /// Takes the result of an index.
  func submit(_ value: Value, at index: Int) {
    let isFirst = state.withLock { state in
      state.arrived[index] = value
      // A result behind a gap is delivered in the turn of the one that closes it.
      guard index == state.next, !state.isScheduled else { return false }
      state.isScheduled = true
      return true
    }
    guard isFirst else { return }
    queue.async {
      self.drain()
      self.drained()
    }
  }

  /// Returns when everything that was submitted before and has no gap before it is delivered.
  func flush() {
    queue.sync { drain() }
  }

  /// The same, including results behind a gap. Nothing may be submitted afterwards.
  func flushPastGaps() {
    queue.sync {
      drain()
      let rest = state.withLock { state in
        defer { state.arrived = [:] }
        return state.arrived.sorted { $0.key < $1.key }
      }
      for (index, value) in rest { deliver(index, value) }
    }
  }

  private func drain() {
    while true {
      let due = state.withLock { state -> (Int, Value)? in
        guard let value = state.arrived.removeValue(forKey: state.next) else {
          state.isScheduled = false
          return nil
        }
        defer { state.next += 1 }
        return (state.next, value)
      }
      guard let (index, value) = due else { return }
      deliver(index, value)
    }
  }
}
