/// What the planner knows about an item, row or problem before it is processed.
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

/// Cuts what a source yields into chunks, by count and bytes only. Rows and problems count as items do.
///
/// The plan never depends on the concurrency or on time, so whatever is made chunk by chunk is the same at every `-j`.
struct ChunkPlanner<Item: Sendable, Row: Sendable> {
  private let stride: ChunkStride
  private var items: [Item] = []
  private var asides: [(Yielded<Never, Row>, position: Int)] = []
  private var (byteCount, retained, pathCount) = (Int64(0), Int64(0), 0)
  private var index = 0
  /// The most items of the next chunk.
  private var limit: Int
  /// The chunk of a large item that ended an incomplete chunk.
  private var large: PlannedChunk<Item, Row>?

  init(stride: ChunkStride) {
    self.stride = stride
    limit = stride.count(at: 0)
  }

  /// Items, rows and problems of the next chunk; a number of its own, since counting a generic array would build its metadata for
  /// each item.
  private var count = 0

  /// Adds the next item.
  ///
  /// - Returns: a chunk if it completes one; then ``takeLarge()`` may return a second one.
  mutating func add(_ item: Item, _ measure: ItemMeasure) -> PlannedChunk<Item, Row>? {
    let before = endBefore(measure)
    items.append(item)
    return count(measure, after: before)
  }

  /// Adds the next row or problem; returns as ``add(_:_:)`` for an item does.
  mutating func add(aside: Yielded<Never, Row>, _ measure: ItemMeasure) -> PlannedChunk<Item, Row>? {
    let before = endBefore(measure)
    asides.append((aside, position: items.count))
    return count(measure, after: before)
  }

  /// Adds what a reader yields next; returns as ``add(_:_:)`` for an item does.
  mutating func add(_ yielded: Yielded<Item, Row>, _ measure: ItemMeasure) -> PlannedChunk<Item, Row>? {
    switch yielded {
    case .item(let item): add(item, measure)
    case .row(let row): add(aside: .row(row), measure)
    case .problem(let problem): add(aside: .problem(problem), measure)
    }
  }

  /// Ends the chunk before a large item, which has a chunk of its own.
  private mutating func endBefore(_ measure: ItemMeasure) -> PlannedChunk<Item, Row>? {
    measure.weight >= stride.largeThreshold && count > 0 ? cut() : nil
  }

  private mutating func count(_ measure: ItemMeasure, after before: PlannedChunk<Item, Row>?)
    -> PlannedChunk<Item, Row>?
  {
    count += 1
    let weight = max(0, measure.weight)
    byteCount += min(weight, .max - byteCount)
    retained += min(max(0, measure.retained), .max - retained)
    pathCount += measure.count
    let isLarge = weight >= stride.largeThreshold
    guard isLarge || count >= limit || byteCount >= stride.byteCount else { return nil }
    let chunk = cut(isLarge: isLarge)
    guard let before else { return chunk }
    large = chunk
    return before
  }

  /// A chunk of one item beside the sequence, whose results are collected as soon as they are there.
  func chunk(beside item: Item, _ measure: ItemMeasure) -> PlannedChunk<Item, Row> {
    PlannedChunk(
      chunk: Chunk(
        index: index, items: [item], byteCount: max(0, measure.weight),
        isLarge: measure.weight >= stride.largeThreshold, isOrdered: false, pathCount: measure.count,
        retained: max(0, measure.retained)),
      asides: [])
  }

  /// The chunk of a large item that ended the chunk before it.
  mutating func takeLarge() -> PlannedChunk<Item, Row>? { large.take() }

  /// The chunk of the items that follow the last complete chunk.
  mutating func takeRest() -> PlannedChunk<Item, Row>? { count == 0 ? nil : cut() }

  private mutating func cut(isLarge: Bool = false) -> PlannedChunk<Item, Row> {
    let chunk = PlannedChunk(
      chunk: Chunk(
        index: index, items: items, byteCount: byteCount, isLarge: isLarge, pathCount: pathCount,
        retained: retained),
      asides: asides)
    (items, asides) = ([], [])
    (byteCount, retained, pathCount, count) = (0, 0, 0, 0)
    index += 1
    limit = stride.count(at: index)
    return chunk
  }
}

/// An item or row that knows its own measure.
package protocol MeasuredItem: Sendable {
  var measure: ItemMeasure { get }
}

extension Never: MeasuredItem {
  package var measure: ItemMeasure { switch self {} }
}

extension Yielded: MeasuredItem where Item: MeasuredItem, Row: MeasuredItem {
  package var measure: ItemMeasure {
    switch self {
    case .item(let item): item.measure
    case .row(let row): row.measure
    case .problem: ItemMeasure(weight: 0, retained: 512)
    }
  }
}
