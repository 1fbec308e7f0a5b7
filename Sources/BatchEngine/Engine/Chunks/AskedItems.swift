import Synchronization

/// Items that the collector of a run asks for, beside those of the source: work that can begin only when other results are
/// there, such as the proof of an output whose last block was written.
///
/// They are admitted before what the source still has, also where there is no room for the results of that.
public final class AskedItems<Item: Sendable>: Sendable {
  private struct State {
    var items: [Item] = []
    var asked: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  public init() {}

  /// Asks for an item; the run does not end before it is processed. Called by the collector.
  public func ask(_ item: Item) {
    let asked = state.withLock { state in
      state.items.append(item)
      return state.asked
    }
    asked?()
  }

  /// Gives up what was asked for and has not begun.
  public func giveUp() -> [Item] {
    state.withLock { state in
      defer { state.items = [] }
      return state.items
    }
  }

  var isEmpty: Bool { state.withLock { $0.items.isEmpty } }

  func take() -> Item? {
    state.withLock { $0.items.isEmpty ? nil : $0.items.removeFirst() }
  }

  /// Has `asked` called for each item that is asked for from now on.
  func onAsk(_ asked: @escaping @Sendable () -> Void) {
    state.withLock { $0.asked = asked }
  }
}
