import Synchronization

/// Values in the order in which they came, from any thread.
final class Recorder<Value: Sendable>: Sendable {
  private let recorded = Mutex<[Value]>([])

  var values: [Value] { recorded.withLock { $0 } }
  var count: Int { recorded.withLock { $0.count } }

  func record(_ value: Value) { recorded.withLock { $0.append(value) } }
}
