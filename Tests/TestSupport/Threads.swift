import Foundation
import Synchronization

/// Runs blocking code on a separate thread, so that tests which wait for each other do not use up the few
/// threads that run tests.
///
/// When the test's time limit cancels it, the wait throws an error and the thread keeps running.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  let reply = ThreadReply<Value>()
  return try await withTaskCancellationHandler {
    try await withCheckedThrowingContinuation { continuation in
      reply.expect(continuation)
      let thread = Thread { reply.settle(Result { try body() }) }
      thread.start()
    }
  } onCancel: {
    reply.settle(.failure(CancellationError()))
  }
}

/// Runs `body` on `count` threads at once and returns when all have ended.
package func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) async throws {
  try await withThrowingTaskGroup(of: Void.self) { group in
    for number in 0..<count { group.addTask { try await onThread { body(number) } } }
    try await group.waitForAll()
  }
}

/// The result of a thread, which is set once.
private final class ThreadReply<Value: Sendable>: Sendable {
  private enum State {
    case none
    case expected(CheckedContinuation<Value, any Error>)
    case early(Result<Value, any Error>)
    case settled
  }

  private let state = Mutex(State.none)

  func expect(_ continuation: CheckedContinuation<Value, any Error>) {
    let early = state.withLock { state -> Result<Value, any Error>? in
      if case .early(let result) = state {
        state = .settled
        return result
      }
      state = .expected(continuation)
      return nil
    }
    if let early { continuation.resume(with: early) }
  }

  func settle(_ result: Result<Value, any Error>) {
    let continuation = state.withLock { state -> CheckedContinuation<Value, any Error>? in
      switch state {
      case .none:
        state = .early(result)
        return nil
      case .expected(let continuation):
        state = .settled
        return continuation
      case .early, .settled: return nil
      }
    }
    continuation?.resume(with: result)
  }
}
