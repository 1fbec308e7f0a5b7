import Synchronization

/// Items that the collector of a run asks for, beside those of the source: work that can begin only when other results are
/// there, such as the proof of an output whose last block was written.
///
/// They are admitted before what the source still has, also where there is no room for the results of that.
public final class AskedItems<Item: Sendable>: Sendable {
  private struct State {
    var items = WaitingLine<Item>()
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
      for item in items { state.items.append(item) }
      return state.asked
    }
    asked?()
  }

  /// Gives up what was asked for and has not begun.
  public func giveUp() -> [Item] {
    state.withLock { state in
      var items = [Item]()
      while let item = state.items.removeFirst() { items.append(item) }
      return items
    }
  }

  var isEmpty: Bool { state.withLock { $0.items.count == 0 } }

  func take() -> Item? { state.withLock { $0.items.removeFirst() } }

  /// Has `asked` called for each item that is asked for from now on.
  func onAsk(_ asked: @escaping @Sendable () -> Void) {
    state.withLock { $0.asked = asked }
  }
}
