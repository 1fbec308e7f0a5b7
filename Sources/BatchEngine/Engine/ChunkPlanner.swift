/// Cuts a sequence of items into chunks by count and bytes, and by nothing else.
///
/// The plan never depends on the concurrency or on time, so everything that is made chunk by chunk is
/// the same at every `-j`.
struct ChunkPlanner<Item: Sendable> {
  private let stride: ChunkStride
  private let weight: (Item) -> Int64
  private let nextItem: () throws(BatchError) -> Item?
  private var held: Item?
  private var index = 0
  private var isAtEnd = false

  init(
    stride: ChunkStride, weight: @escaping (Item) -> Int64,
    nextItem: @escaping () throws(BatchError) -> Item?
  ) {
    self.stride = stride
    self.weight = weight
    self.nextItem = nextItem
  }

  /// The next chunk, or nil at the end.
  package mutating func next() throws(BatchError) -> Chunk<Item>? {
    var items = [Item]()
    let limit = stride.count(at: index)
    var byteCount: Int64 = 0
    while items.count < limit, byteCount < stride.byteCount, let item = try take() {
      let weight = max(0, weight(item))
      if weight >= stride.largeThreshold {
        if items.isEmpty { return chunk([item], weight, isLarge: true) }
        held = item
        break
      }
      items.append(item)
      byteCount += min(weight, .max - byteCount)
    }
    return items.isEmpty ? nil : chunk(items, byteCount, isLarge: false)
  }

  private mutating func take() throws(BatchError) -> Item? {
    if let item = held {
      held = nil
      return item
    }
    if isAtEnd { return nil }
    let item = try nextItem()
    isAtEnd = item == nil
    return item
  }

  private mutating func chunk(_ items: [Item], _ byteCount: Int64, isLarge: Bool) -> Chunk<Item> {
    defer { index += 1 }
    return Chunk(index: index, items: items, byteCount: byteCount, isLarge: isLarge)
  }
}
