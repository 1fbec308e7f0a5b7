import Synchronization

/// How many operations of a run go on at once: the one owner of that number, and of whether any may begin.
///
/// Whoever shares something out among the lanes asks for ``current`` each time that it matters, so that a change
/// during a run takes effect everywhere.
public final class ConcurrencyLimit: Sendable {
  private struct State {
    var listeners: [Int: @Sendable () -> Void] = [:]
    var registrations = 0
  }

  /// More operations at once than any process has threads for.
  private static let most = 1 << 16

  private let number: Atomic<Int>
  private let suspended = Atomic<Bool>(false)
  private let state = Mutex(State())

  /// - Parameter count: operations at once; less than 1 counts as 1.
  public init(_ count: Int) {
    number = Atomic(Self.bounded(count))
  }

  /// Operations at once, 1 or more.
  public var current: Int { number.load(ordering: .relaxed) }

  /// Whether operations that have not begun are held back.
  public var isSuspended: Bool { suspended.load(ordering: .relaxed) }

  /// Changes the number, before a run or while it goes on. Operations that run are not stopped: a lower number holds
  /// from the next operation on.
  public func set(_ count: Int) {
    number.store(Self.bounded(count), ordering: .relaxed)
    notify()
  }

  /// Holds back operations that have not begun, or lets them begin again.
  public func setSuspended(_ isSuspended: Bool) {
    suspended.store(isSuspended, ordering: .relaxed)
    notify()
  }

  /// Calls `listener` after each change, on the thread that makes it.
  ///
  /// - Returns: what ``forget(_:)`` wants.
  func onChange(_ listener: @escaping @Sendable () -> Void) -> Int {
    state.withLock { state in
      state.registrations += 1
      state.listeners[state.registrations] = listener
      return state.registrations
    }
  }

  func forget(_ registration: Int) {
    state.withLock { $0.listeners[registration] = nil }
  }

  private func notify() {
    let listeners = state.withLock { Array($0.listeners.values) }
    for listener in listeners { listener() }
  }

  private static func bounded(_ count: Int) -> Int { min(max(1, count), most) }
}
