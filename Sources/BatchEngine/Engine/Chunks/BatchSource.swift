/// Supplies the items of a run.
public protocol BatchSource<Item> {
  associatedtype Item: Sendable
  /// A result that needs no worker: the ``BatchJob/SourceRow`` of the job. `Never` if the source yields none.
  associatedtype Row: Sendable = Never

  /// What comes next: an item, a row or a problem; nil at the end. Calls never overlap, and are made when there is room for
  /// more.
  ///
  /// - Throws: an error that ends the run.
  mutating func next() throws(BatchError) -> Yielded<Item, Row>?

  /// The weight of an item in bytes, 0 if not known before the item is read.
  func weight(of item: Item) -> Int64

  /// How many paths an item counts as: 1, or 0 for a further part of a file that was counted.
  func count(of item: Item) -> Int

  /// Bytes that an item keeps in memory from its admission until its result is collected, without the buffers of the lane. The
  /// run limits the sum of these bytes.
  func retained(by item: Item) -> Int64

  /// How many paths a row counts as.
  func count(ofRow row: Row) -> Int

  /// Bytes that a row keeps in memory until it is collected.
  func retained(byRow row: Row) -> Int64

  /// How many paths the source has left out so far because the options ask for that.
  var filteredCount: Int { get }

  /// The items that the collector requests; nil if it requests none.
  var asked: AskedItems<Item>? { get }
}

extension BatchSource {
  public func count(of item: Item) -> Int { 1 }

  public func retained(by item: Item) -> Int64 { 0 }

  public func count(ofRow row: Row) -> Int { 1 }

  public func retained(byRow row: Row) -> Int64 { 0 }

  public var filteredCount: Int { 0 }

  public var asked: AskedItems<Item>? { nil }
}
