import BatchEngine
import Synchronization

/// An object that one thread at a time may use.
final class Locked<Value: AnyObject>: Sendable {
  private let value: Mutex<Value>

  init(_ value: sending Value) {
    self.value = Mutex(value)
  }

  func use<Result: Sendable>(_ body: (Value) throws(BatchError) -> Result) throws(BatchError) -> Result {
    try value.withLock { (value) throws(BatchError) in try body(value) }
  }
}
