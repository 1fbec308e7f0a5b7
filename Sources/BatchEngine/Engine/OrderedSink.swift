import Dispatch
import Synchronization

/// Delivers results in the order of their indices, one at a time, however they arrive.
///
/// A serial queue stands in for a lock: results may come from any thread, and `deliver` is never called
/// twice at once.
final class OrderedSink<Value: Sendable>: Sendable {
  private struct State {
    var arrived: [Int: Value] = [:]
    var next = 0
  }

  private let state = Mutex(State())
  private let queue = DispatchQueue(label: "batchproc.sink")
  private let deliver: @Sendable (Int, Value) -> Void

  /// - Parameter deliver: called with index 0, 1, 2 … without a gap.
  init(deliver: @escaping @Sendable (Int, Value) -> Void) {
    self.deliver = deliver
  }

  /// Results that have arrived and not been delivered: those behind a gap, and those in the queue.
  var backlog: Int { state.withLock { $0.arrived.count } }

  /// Takes the result of an index; `completion` follows when everything that is due has been delivered.
  func submit(_ value: Value, at index: Int, completion: @escaping @Sendable () -> Void = {}) {
    state.withLock { $0.arrived[index] = value }
    queue.async {
      self.drain()
      completion()
    }
  }

  /// Returns when everything that was submitted before and has no gap before it is delivered.
  package func flush() {
    queue.sync { drain() }
  }

  /// Holds deliveries back until ``resume()``; calls nest.
  func pause() { queue.suspend() }

  func resume() { queue.resume() }

  private func drain() {
    while true {
      let due = state.withLock { state -> (Int, Value)? in
        guard let value = state.arrived.removeValue(forKey: state.next) else { return nil }
        defer { state.next += 1 }
        return (state.next, value)
      }
      guard let (index, value) = due else { return }
      deliver(index, value)
    }
  }
}
