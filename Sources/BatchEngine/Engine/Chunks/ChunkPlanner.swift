/// What a source says of an item.
struct ItemMeasure {
  /// In bytes, 0 when that is not known.
  let weight: Int64
  /// How many paths it stands for.
  var count = 1
  /// Bytes that stay in memory until its result is collected.
  var retained: Int64 = 0
}

/// A chunk with what the source says of its items together.
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
  private let measure: (Item) -> ItemMeasure
  private let nextItem: () throws(BatchError) -> Item?
  private var held: Item?
  private var index = 0

  /// - Parameter nextItem: nil when there is none now; it is asked again for the next chunk.
  init(
    stride: ChunkStride, measure: @escaping (Item) -> ItemMeasure,
    nextItem: @escaping () throws(BatchError) -> Item?
  ) {
    self.stride = stride
    self.measure = measure
    self.nextItem = nextItem
  }

  /// The next chunk, or nil at the end.
  mutating func next() throws(BatchError) -> PlannedChunk<Item>? {
    var items = [Item]()
    let limit = stride.count(at: index)
    var (byteCount, retained, pathCount) = (Int64(0), Int64(0), 0)
    var isLarge = false
    while !isLarge, items.count < limit, byteCount < stride.byteCount, let item = try take() {
      // At once, since to go over a chunk again copies all of its items.
      let measure = measure(item)
      let weight = max(0, measure.weight)
      isLarge = weight >= stride.largeThreshold
      if isLarge, !items.isEmpty {
        held = item
        isLarge = false
        break
      }
      items.append(item)
      byteCount += min(weight, .max - byteCount)
      retained += min(max(0, measure.retained), .max - retained)
      pathCount += measure.count
    }
    guard !items.isEmpty else { return nil }
    defer { index += 1 }
    return PlannedChunk(
      chunk: Chunk(index: index, items: items, byteCount: byteCount, isLarge: isLarge), pathCount: pathCount,
      retained: retained)
  }

  private mutating func take() throws(BatchError) -> Item? {
    if let item = held {
      held = nil
      return item
    }
    return try nextItem()
  }
}
