/// What is known of an item when chunks are cut.
package struct ItemMeasure: Sendable {
  /// In bytes, 0 when that is not known.
  let weight: Int64
  /// How many paths it stands for.
  let count: Int
  /// Bytes that stay in memory until its result is collected.
  let retained: Int64

  package init(weight: Int64, count: Int = 1, retained: Int64 = 0) {
    self.weight = weight
    self.count = count
    self.retained = retained
  }
}

/// A chunk with what is known of its items together.
struct PlannedChunk<Item: Sendable>: Sendable {
  let chunk: Chunk<Item>
  let pathCount: Int
  let retained: Int64
}

/// Cuts a sequence of items into chunks by count and bytes, and by nothing else.
///
/// The plan never depends on the concurrency or on time, so everything that is made chunk by chunk is
/// the same at every `-j`.
struct ChunkPlanner<Item: Sendable> {
  private let stride: ChunkStride
  private var items: [Item] = []
  private var (byteCount, retained, pathCount) = (Int64(0), Int64(0), 0)
  private var index = 0
  /// The most items of the next chunk.
  private var limit: Int
  /// A large item that came while a chunk was begun.
  private var large: PlannedChunk<Item>?

  init(stride: ChunkStride) {
    self.stride = stride
    limit = stride.count(at: 0)
  }

  /// Takes the next item.
  ///
  /// - Returns: a chunk that is complete with it; ``takeLarge()`` is to be asked for another one then.
  mutating func add(_ item: Item, _ measure: ItemMeasure) -> PlannedChunk<Item>? {
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

  /// The large item that ended the chunk before.
  mutating func takeLarge() -> PlannedChunk<Item>? { large.take() }

  /// The items behind the last complete chunk.
  mutating func takeRest() -> PlannedChunk<Item>? { items.isEmpty ? nil : cut() }

  private mutating func cut(isLarge: Bool = false) -> PlannedChunk<Item> {
    let planned = PlannedChunk(
      chunk: Chunk(index: index, items: items, byteCount: byteCount, isLarge: isLarge), pathCount: pathCount,
      retained: retained)
    items = []
    (byteCount, retained, pathCount) = (0, 0, 0)
    index += 1
    limit = stride.count(at: index)
    return planned
  }
}

/// An item that knows its own measure.
package protocol MeasuredItem: Sendable {
  var measure: ItemMeasure { get }
}
