/// Where the items of a run come from.
public protocol BatchSource<Item> {
  associatedtype Item: Sendable

  /// The next item, nil at the end. Called from one place, one call at a time, when there is room for more.
  ///
  /// - Throws: an error that ends the run.
  mutating func next() throws(BatchError) -> Item?

  /// What an item weighs in bytes, 0 when that is not known before it is read.
  func weight(of item: Item) -> Int64
}
