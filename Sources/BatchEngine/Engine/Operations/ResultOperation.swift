import Foundation
import Synchronization

/// An operation that makes one value, on a queue of its own or on the thread that starts it.
package final class ResultOperation<Value: Sendable>: AsynchronousOperation, @unchecked Sendable {
  private let outcome = Mutex<Result<Value, BatchError>?>(nil)
  private let queue: DispatchQueue?
  private let body: @Sendable (ResultOperation<Value>) throws -> Value

  /// - Parameters:
  ///   - queue: where the body runs; nil for the thread that calls `start`.
  ///   - body: gets the operation, so that it can check `isCancelled` while it runs.
  package init(
    on queue: DispatchQueue? = nil,
    _ body: @escaping @Sendable (ResultOperation<Value>) throws -> Value
  ) {
    self.queue = queue
    self.body = body
  }

  /// The value that the body returned.
  ///
  /// - Throws: what the body threw; `cancelled` when the operation was cancelled; `invalid` when it has
  ///   not finished.
  package func value() throws(BatchError) -> Value {
    guard let outcome = outcome.withLock({ $0 }) else {
      throw BatchError(.invalid, "the result of an operation that has not finished was requested")
    }
    return try outcome.get()
  }

  override func execute() {
    guard let queue else { return run() }
    queue.async { self.run() }
  }

  override func cancelledBeforeStart() {
    settle(.failure(BatchError(.cancelled, "cancelled before it began")))
  }

  private func run() {
    defer { finish() }
    do {
      let value = try body(self)
      settle(isCancelled ? .failure(BatchError(.cancelled, "cancelled while it ran")) : .success(value))
    } catch {
      settle(.failure(error as? BatchError ?? BatchError(.invalid, "\(error)")))
    }
  }

  private func settle(_ outcome: Result<Value, BatchError>) {
    self.outcome.withLock { $0 = $0 ?? outcome }
  }
}
