import BatchEngine

/// A source that yields the elements of a sequence, and may then throw an error.
package struct ListSource<Item: Sendable>: BatchSource {
  private var rest: ArraySlice<Item>
  private let weigh: @Sendable (Item) -> Int64
  private let failure: BatchError?

  package init(
    _ items: some Sequence<Item>, failure: BatchError? = nil,
    weigh: @escaping @Sendable (Item) -> Int64 = { _ in 0 }
  ) {
    rest = Array(items)[...]
    self.weigh = weigh
    self.failure = failure
  }

  package mutating func next() throws(BatchError) -> Yielded<Item, Never>? {
    if let item = rest.popFirst() { return .item(item) }
    if let failure { throw failure }
    return nil
  }

  package func weight(of item: Item) -> Int64 { weigh(item) }
}
