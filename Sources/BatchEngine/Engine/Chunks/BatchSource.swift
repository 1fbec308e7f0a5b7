/// Where the items of a run come from.
public protocol BatchSource<Item> {
  associatedtype Item: Sendable

  /// The next item, nil at the end. Called from one place, one call at a time, when there is room for more.
  ///
  /// - Throws: an error that ends the run.
  mutating func next() throws(BatchError) -> Item?

  /// What an item weighs in bytes, 0 when that is not known before it is read.
  func weight(of item: Item) -> Int64

  /// How many paths an item stands for: 1, or 0 where it is one more part of a file that was counted.
  func count(of item: Item) -> Int

  /// Bytes that stay in memory from the admission of an item until its result is collected, beside the
  /// buffers of the lane; a bounded number of them is admitted.
  func retained(by item: Item) -> Int64

  /// How many paths the source has left out so far because the options ask for that.
  var filteredCount: Int { get }

  /// Takes the items that the collector asks for; nil where it asks for none.
  var asked: AskedItems<Item>? { get }
}

extension BatchSource {
  public func count(of item: Item) -> Int { 1 }

  public func retained(by item: Item) -> Int64 { 0 }

  public var filteredCount: Int { 0 }

  public var asked: AskedItems<Item>? { nil }
}
