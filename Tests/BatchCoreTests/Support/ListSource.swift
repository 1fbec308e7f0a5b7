@testable import BatchCore
@testable import BatchEngine

/// A source over a sequence; it may end in an error.
struct ListSource<Item: Sendable>: BatchSource {
  private var rest: ArraySlice<Item>
  private let weigh: @Sendable (Item) -> Int64
  private let failure: BatchError?

  init(
    _ items: some Sequence<Item>, failure: BatchError? = nil,
    weigh: @escaping @Sendable (Item) -> Int64 = { _ in 0 }
  ) {
    rest = Array(items)[...]
    self.weigh = weigh
    self.failure = failure
  }

  mutating func next() throws(BatchError) -> Item? {
    if let item = rest.popFirst() { return item }
    if let failure { throw failure }
    return nil
  }

  func weight(of item: Item) -> Int64 { weigh(item) }
}
