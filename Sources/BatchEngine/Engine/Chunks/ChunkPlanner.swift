/// What the planner knows about an item before it is processed.
package struct ItemMeasure: Sendable {
  /// In bytes, 0 when that is not known.
  let weight: Int64
  /// How many paths it counts as.
  let count: Int
  /// Bytes that stay in memory until its result is collected.
  let retained: Int64

  package init(weight: Int64, count: Int = 1, retained: Int64 = 0) {
    self.weight = weight
    self.count = count
    self.retained = retained
  }
}

/// Cuts a sequence of items into chunks, by count and bytes only.
///
/// The plan never depends on the concurrency or on time, so whatever is made chunk by chunk is the same at every `-j`.
struct ChunkPlanner<Item: Sendable> {
  private let stride: ChunkStride
  private var items: [Item] = []
  private var (byteCount, retained, pathCount) = (Int64(0), Int64(0), 0)
  private var index = 0
  /// The most items of the next chunk.
  private var limit: Int
  /// The chunk of a large item that ended an incomplete chunk.
  private var large: Chunk<Item>?

  init(stride: ChunkStride) {
    self.stride = stride
    limit = stride.count(at: 0)
  }

  /// Adds the next item.
  ///
  /// - Returns: a chunk if this item completes one; then ``takeLarge()`` may return a second one.
  mutating func add(_ item: Item, _ measure: ItemMeasure) -> Chunk<Item>? {
    let isLarge = measure.weight >= stride.largeThreshold
    let before = isLarge && !items.isEmpty ? cut() : nil
    items.append(item)
    let weight = max(0, measure.weight)
    byteCount += min(weight, .max - byteCount)
    retained += min(max(0, measure.retained), .max - retained)
    pathCount += measure.count
    guard isLarge || items.count >= limit || byteCount >= stride.byteCount else { return nil }
    let chunk = cut(isLarge: isLarge)
    guard let before else { return chunk }
    large = chunk
    return before
  }

  /// A chunk of one item beside the sequence, whose results are collected as soon as they are there.
  func chunk(beside item: Item, _ measure: ItemMeasure) -> Chunk<Item> {
    Chunk(
      index: index, items: [item], byteCount: max(0, measure.weight),
      isLarge: measure.weight >= stride.largeThreshold, isOrdered: false, pathCount: measure.count,
      retained: max(0, measure.retained))
  }

  /// The chunk of a large item that ended the chunk before it.
  mutating func takeLarge() -> Chunk<Item>? { large.take() }

  /// The chunk of the items that follow the last complete chunk.
  mutating func takeRest() -> Chunk<Item>? { items.isEmpty ? nil : cut() }

  private mutating func cut(isLarge: Bool = false) -> Chunk<Item> {
    let chunk = Chunk(
      index: index, items: items, byteCount: byteCount, isLarge: isLarge, pathCount: pathCount,
      retained: retained)
    items = []
    (byteCount, retained, pathCount) = (0, 0, 0)
    index += 1
    limit = stride.count(at: index)
    return chunk
  }
}

/// An item that knows its own measure.
package protocol MeasuredItem: Sendable {
  var measure: ItemMeasure { get }
}
