import Synchronization

/// Items that the collector of a run asks for, beside those of the source: work that can begin only when other results are
/// there, such as the proof of an output whose last block was written.
///
/// They are admitted before what the source still has, also where there is no room for the results of that.
public final class AskedItems<Item: Sendable>: Sendable {
  private struct State {
    var items: [Item] = []
    /// How many of them were taken.
    var taken = 0
    var asked: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  public init() {}

  /// Asks for an item; the run does not end before it is processed. Called by the collector.
  public func ask(_ item: Item) { ask([item]) }

  /// Asks for several, which are processed in this order.
  public func ask(_ items: [Item]) {
    guard !items.isEmpty else { return }
    let asked = state.withLock { state in
      state.items += items
      return state.asked
    }
    asked?()
  }

  /// Gives up what was asked for and has not begun.
  public func giveUp() -> [Item] {
    state.withLock { state in
      defer { (state.items, state.taken) = ([], 0) }
      return Array(state.items[state.taken...])
    }
  }

  var isEmpty: Bool { state.withLock { $0.taken == $0.items.count } }

  func take() -> Item? {
    state.withLock { state in
      guard state.taken < state.items.count else { return nil }
      defer {
        state.taken += 1
        if state.taken == state.items.count { (state.items, state.taken) = ([], 0) }
      }
      return state.items[state.taken]
    }
  }

  /// Has `asked` called for each item that is asked for from now on.
  func onAsk(_ asked: @escaping @Sendable () -> Void) {
    state.withLock { $0.asked = asked }
  }
}
