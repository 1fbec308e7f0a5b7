import Synchronization

/// Whether a run must stop, and the reason. Only the first reason is kept.
public final class Cancellation: Sendable {
  private struct State {
    var reason: BatchError?
    var signal: Int32?
    var handlers: [Int: @Sendable () -> Void] = [:]
    var registrations = 0
  }

  /// Each ``check()`` records a step here.
  package let activity = Activity()
  private let flag = Atomic<Bool>(false)
  private let state = Mutex(State())

  public init() {}

  /// Cheap enough to ask for every file and every buffer.
  public var isCancelled: Bool { flag.load(ordering: .acquiring) }

  public var reason: BatchError? { state.withLock { $0.reason } }

  /// Whether the run was stopped from outside, for example by a signal, and not by an error.
  package var isFromOutside: Bool { isCancelled && reason?.code == .cancelled }

  /// The signal that stopped the run, which its child processes get too.
  package var signal: Int32? { state.withLock { $0.signal } }

  /// Stops the run; later calls change nothing.
  public func cancel(_ reason: BatchError) { cancel(reason, signal: nil) }

  package func cancel(_ reason: BatchError, signal: Int32?) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.reason == nil else { return [] }
      state.reason = reason
      state.signal = signal
      // Inside the lock: a thread that sees the reason also sees the flag.
      flag.store(true, ordering: .releasing)
      defer { state.handlers = [:] }
      return state.handlers.sorted { $0.key < $1.key }.map(\.value)
    }
    for handler in handlers { handler() }
  }

  /// Calls `handler` once when the run is cancelled; immediately if it is already cancelled.
  ///
  /// - Returns: a number for ``forget(_:)``.
  @discardableResult
  public func onCancel(_ handler: @escaping @Sendable () -> Void) -> Int {
    let registration = state.withLock { state -> Int? in
      guard state.reason == nil else { return nil }
      state.registrations += 1
      state.handlers[state.registrations] = handler
      return state.registrations
    }
    if registration == nil { handler() }
    return registration ?? 0
  }

  /// Removes a handler that has not been called.
  public func forget(_ registration: Int) {
    state.withLock { $0.handlers[registration] = nil }
  }

  /// - Throws: the reason, when there is one.
  public func check() throws(BatchError) {
    activity.note()
    guard isCancelled else { return }
    throw reason ?? BatchError(.cancelled, "cancelled")
  }
}

/// Whether a run makes progress, for a watch that checks periodically.
///
/// Each step between two items or two buffers sets a flag, which the watch clears.
package final class Activity: Sendable {
  private let hasMoved = Atomic<Bool>(false)
  private let waits = Atomic<Int>(0)

  /// Records a step. Cheap from any thread: the flag is written only once between two checks.
  func note() {
    if !hasMoved.load(ordering: .relaxed) { hasMoved.store(true, ordering: .relaxed) }
  }

  /// Whether there was a step since the last call.
  package func takeNote() -> Bool { hasMoved.exchange(false, ordering: .relaxed) }

  /// Whether the run waits for something that is expected to take long.
  package var isWaiting: Bool { waits.load(ordering: .relaxed) > 0 }

  /// Runs `body`, in which the run waits for another process: the holder of a lock, or a hook.
  package func whileWaiting<Result, Failure: Error>(
    _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    waits.add(1, ordering: .relaxed)
    defer { waits.subtract(1, ordering: .relaxed) }
    return try body()
  }
}
