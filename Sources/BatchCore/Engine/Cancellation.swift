import Synchronization

/// Whether a run is to stop, and why. The first reason stays.
public final class Cancellation: Sendable {
  private struct State {
    var reason: BatchError?
    var handlers: [@Sendable () -> Void] = []
  }

  private let flag = Atomic<Bool>(false)
  private let state = Mutex(State())

  public init() {}

  /// Cheap enough to ask for every file and every buffer.
  public var isCancelled: Bool { flag.load(ordering: .acquiring) }

  public var reason: BatchError? { state.withLock { $0.reason } }

  /// Stops the run; later calls change nothing.
  public func cancel(_ reason: BatchError) {
    let handlers = state.withLock { state -> [@Sendable () -> Void] in
      guard state.reason == nil else { return [] }
      state.reason = reason
      // Inside the lock: whoever sees the reason also sees the flag.
      flag.store(true, ordering: .releasing)
      defer { state.handlers = [] }
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Has `handler` called once when the run is cancelled, at once if it is already.
  public func onCancel(_ handler: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      if state.reason == nil { state.handlers.append(handler) }
      return state.reason != nil
    }
    if isLate { handler() }
  }

  /// - Throws: the reason, when there is one.
  public func check() throws(BatchError) {
    guard isCancelled else { return }
    throw reason ?? BatchError(.cancelled, "cancelled")
  }
}
