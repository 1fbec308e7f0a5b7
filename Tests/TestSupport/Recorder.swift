import Synchronization

/// Values in the order in which they came, from any thread.
package final class Recorder<Value: Sendable>: Sendable {
  private let recorded = Mutex<[Value]>([])

  package init() {}

  package var values: [Value] { recorded.withLock { $0 } }
  package var count: Int { recorded.withLock { $0.count } }

  package func record(_ value: Value) { recorded.withLock { $0.append(value) } }
}
