import Synchronization

/// How many operations of a run may run at once, and whether the run is suspended. No other object stores this.
///
/// Code that divides work among the lanes reads ``current`` each time, so that a change during a run takes effect everywhere.
/// Lanes check before each item and each buffer, so that a lower number or a pause takes effect soon, not only with the next
/// operation.
public final class ConcurrencyLimit: Sendable {
  /// The parts that may suspend a run; it continues when none of them suspends it.
  package enum Suspender: Hashable, Sendable {
    case caller, load
  }

  /// The parts that may halve the number of operations.
  package enum Halver: Hashable, Sendable {
    case load, memory
  }

  private struct State {
    var wanted: Int
    var halvings: [Halver: Int] = [:]
    var suspenders: Set<Suspender> = []
    var listeners: [Int: @Sendable () -> Void] = [:]
    var registrations = 0
  }

  /// An upper bound that exceeds the threads of any process.
  private static let most = 1 << 16

  private let number: Atomic<Int>
  private let suspended = Atomic<Bool>(false)
  private let fixed = Atomic<Bool>(false)
  private let running = Atomic<Int>(0)
  private let more = Atomic<Bool>(true)
  private let exhausted = Atomic<Bool>(false)
  private let helpers = Atomic<Int>(0)
  private let halvedForMemory = Atomic<Int>(0)
  private let state: Mutex<State>

  /// - Parameter count: operations at once; less than 1 counts as 1.
  public init(_ count: Int) {
    number = Atomic(Self.bounded(count))
    state = Mutex(State(wanted: Self.bounded(count)))
  }

  /// Operations at once, 1 or more.
  public var current: Int { number.load(ordering: .relaxed) }

  /// Whether operations are held back.
  public var isSuspended: Bool { suspended.load(ordering: .relaxed) }

  /// What suspends the run; the caller first if several do, and nil if nothing does.
  package var suspender: Suspender? {
    state.withLock { state in [.caller, .load].first(where: state.suspenders.contains) }
  }

  /// Whether the number was chosen and must not be adapted.
  package var isFixed: Bool { fixed.load(ordering: .relaxed) }

  /// The requested number; it is higher than ``current`` while only a part of it is allowed.
  package var wanted: Int { state.withLock { $0.wanted } }

  /// Whether the number is fixed or halved, or the run suspended: then it is not adapted.
  package var isHeld: Bool { isFixed || state.withLock { !$0.halvings.isEmpty || !$0.suspenders.isEmpty } }

  /// How many times the number, and the memory of the run, are halved because memory is short.
  var memoryHalvings: Int { halvedForMemory.load(ordering: .relaxed) }

  /// How many operations run at this moment, as the lanes report it.
  package var runningCount: Int { running.load(ordering: .relaxed) }

  func note(running count: Int) { running.store(count, ordering: .relaxed) }

  /// Whether more operations could begin, or the source may have more; false at its end, and while results wait for others.
  var hasMore: Bool { more.load(ordering: .relaxed) }

  func note(hasMore: Bool) { more.store(hasMore, ordering: .relaxed) }

  var isExhausted: Bool { exhausted.load(ordering: .relaxed) }

  func note(isExhausted: Bool) {
    exhausted.store(isExhausted, ordering: .relaxed)
    note(hasMore: !isExhausted)
  }

  /// Runs `body` with the number of threads that may work on the item of one operation: the calling thread, and others that no
  /// operation and no other item uses.
  ///
  /// - Parameters:
  ///   - most: the most threads that the item can use, 1 or more.
  ///   - isBesideLanes: whether the calling thread is not that of a lane.
  package func withThreads<Result, Failure: Error>(
    upTo most: Int, besidesLanes isBesideLanes: Bool = false, _ body: (_ count: Int) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let count = takeHelpers(upTo: most - 1, isBesideLanes)
    defer { helpers.subtract(count, ordering: .relaxed) }
    return try body(1 + count)
  }

  private func takeHelpers(upTo most: Int, _ isBesideLanes: Bool) -> Int {
    var taken = helpers.load(ordering: .relaxed)
    while true {
      let others = isBesideLanes ? runningCount + 1 : max(1, runningCount)
      let count = max(0, min(most, current - others - taken))
      let (isTaken, now) = helpers.weakCompareExchange(
        expected: taken, desired: taken + count, ordering: .relaxed)
      if isTaken { return count }
      taken = now
    }
  }

  /// Changes the number, before or during a run. If it falls, the excess operations wait after their current file or buffer.
  public func set(_ count: Int) {
    state.withLock { $0.wanted = Self.bounded(count) }
    apply()
  }

  /// Changes the number and prevents its adaptation; nil allows adaptation again, if the run adapts the number.
  package func fix(_ count: Int?) {
    fixed.store(count != nil, ordering: .relaxed)
    if let count { set(count) }
  }

  /// Allows the requested number divided by 2 so many times, at least 1.
  package func setHalvings(_ count: Int, by halver: Halver) {
    state.withLock { $0.halvings[halver] = count > 0 ? count : nil }
    apply()
  }

  /// Suspends or resumes the operations.
  public func setSuspended(_ isSuspended: Bool) { setSuspended(isSuspended, by: .caller) }

  package func setSuspended(_ isSuspended: Bool, by suspender: Suspender) {
    state.withLock { state in
      if isSuspended { state.suspenders.insert(suspender) } else { state.suspenders.remove(suspender) }
    }
    apply()
  }

  /// Calls `listener` after each change, on the thread that makes it.
  ///
  /// - Returns: a number for ``forget(_:)``.
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

  private func apply() {
    let listeners = state.withLock { state in
      // Inside the lock, so that the later of two changes wins.
      number.store(
        max(1, state.wanted >> state.halvings.values.reduce(0, +)), ordering: .relaxed)
      halvedForMemory.store(state.halvings[.memory] ?? 0, ordering: .relaxed)
      suspended.store(!state.suspenders.isEmpty, ordering: .relaxed)
      return Array(state.listeners.values)
    }
    for listener in listeners { listener() }
  }

  private static func bounded(_ count: Int) -> Int { min(max(1, count), most) }
}
