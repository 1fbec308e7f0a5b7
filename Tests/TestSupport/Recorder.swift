import Synchronization

/// Records values from any thread, in the order of the calls.
package final class Recorder<Value: Sendable>: Sendable {
  private let recorded = Mutex<[Value]>([])

  package init() {}

  package var values: [Value] { recorded.withLock { $0 } }
  package var count: Int { recorded.withLock { $0.count } }

  package func record(_ value: Value) { recorded.withLock { $0.append(value) } }
}
