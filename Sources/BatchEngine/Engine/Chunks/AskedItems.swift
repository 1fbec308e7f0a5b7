import Synchronization

/// Items that the collector of a run requests in addition to those of the source: work that needs earlier results, such as the
/// verification of an output whose last block was written.
///
/// They are admitted before further items of the source, even when there is no room for results of the source's items.
public final class AskedItems<Item: Sendable>: Sendable {
  private struct State {
    /// Items that were requested, and before them those that are taken next, in reverse order. An array releases an item that is
    /// taken from its end: an item may hold descriptors.
    var requested: [Item] = []
    var next: [Item] = []
    var asked: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())
  let isOrdered: Bool

  /// - Parameter isOrdered: whether the results of requested items are collected in the order of all chunks. Otherwise each item is
  ///   a chunk of its own, whose results are collected as soon as they are there: later chunks need not wait for an item that
  ///   takes long.
  public init(isOrdered: Bool = true) { self.isOrdered = isOrdered }

  /// Requests an item; the run does not end before it is processed. Called by the collector.
  public func ask(_ item: Item) { ask([item]) }

  /// Requests several items, which begin in this order.
  public func ask(_ items: [Item]) {
    guard !items.isEmpty else { return }
    let asked = state.withLock { state in
      state.requested += items
      return state.asked
    }
    asked?()
  }

  /// Removes and returns the requested items that have not begun.
  public func giveUp() -> [Item] {
    state.withLock { state in
      defer { (state.requested, state.next) = ([], []) }
      return state.next.reversed() + state.requested
    }
  }

  var isEmpty: Bool { state.withLock { $0.requested.isEmpty && $0.next.isEmpty } }

  func take() -> Item? {
    state.withLock { state in
      if state.next.isEmpty {
        state.next = state.requested.reversed()
        state.requested = []
      }
      return state.next.popLast()
    }
  }

  /// Calls `asked` for each item that is requested from now on.
  func onAsk(_ asked: @escaping @Sendable () -> Void) {
    state.withLock { $0.asked = asked }
  }
}
