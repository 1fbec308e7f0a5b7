import Foundation
import Synchronization

/// An operation that makes one value, on a queue of its own or on the thread that starts it.
///
/// A dependency says when this operation may begin; ``requireSuccess(of:)`` says also that it must not
/// run when the other one failed or was cancelled, which `Operation` by itself counts as finished.
package final class ResultOperation<Value: Sendable>: AsynchronousOperation, FallibleOperation,
  @unchecked Sendable
{
  private struct State {
    var outcome: Result<Value, BatchError>?
    var required: [any FallibleOperation] = []
  }

  private let state = Mutex(State())
  private let queue: DispatchQueue?
  private let body: @Sendable (ResultOperation<Value>) throws -> Value

  /// - Parameters:
  ///   - queue: where the body runs; nil for the thread that calls `start`.
  ///   - body: gets the operation, so that it can look at `isCancelled` as it goes.
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
    guard let outcome = state.withLock({ $0.outcome }) else {
      throw BatchError(.invalid, "a result was asked of an operation that has not finished")
    }
    return try outcome.get()
  }

  /// What ended the operation without a value; nil while it runs and after success.
  package var failure: BatchError? {
    guard case .failure(let error) = state.withLock({ $0.outcome }) else { return nil }
    return error
  }

  /// Lets this operation begin after another one, and only if that one succeeds.
  ///
  /// - Throws: `invalid` when the other one waits for this one, directly or through others.
  package func requireSuccess(of other: any FallibleOperation) throws(BatchError) {
    try addCheckedDependency(other)
    state.withLock { $0.required.append(other) }
  }

  override package func execute() {
    guard let queue else { return run() }
    queue.async { self.run() }
  }

  override package func cancelledBeforeStart() {
    settle(.failure(BatchError(.cancelled, "cancelled before it began")))
  }

  private func run() {
    defer { finish() }
    let required = state.withLock { state in
      defer { state.required = [] }
      return state.required
    }
    if let failed = required.lazy.compactMap(\.failure).first { return settle(.failure(failed)) }
    do {
      let value = try body(self)
      settle(isCancelled ? .failure(BatchError(.cancelled, "cancelled while it ran")) : .success(value))
    } catch {
      settle(.failure(error as? BatchError ?? BatchError(.invalid, "\(error)")))
    }
  }

  private func settle(_ outcome: Result<Value, BatchError>) {
    state.withLock { state in
      if state.outcome == nil { state.outcome = outcome }
    }
  }
}
