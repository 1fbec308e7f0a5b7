/// Consecutive items that one operation processes.
public struct Chunk<Item: Sendable>: Sendable {
  /// Position in the run, from 0; results are collected in this order. That of the next chunk for an item that is collected as
  /// soon as it is processed.
  public let index: Int
  public let items: [Item]
  /// The total weight of the items in bytes, as far as it is known before they are read.
  public let byteCount: Int64
  /// Whether it is a single item above the large threshold, which is started first.
  public let isLarge: Bool
  /// Whether its results are collected in the order of the chunks, and not as soon as they are there.
  var isOrdered = true
  /// How many paths it counts as.
  let pathCount: Int
  /// Bytes that its items keep in memory until its results are collected.
  let retained: Int64
}

/// A chunk, and what its source yielded between the items.
struct PlannedChunk<Item: Sendable, Row: Sendable>: Sendable {
  let chunk: Chunk<Item>
  /// Rows and problems, each with the number of items before it.
  let asides: [(Yielded<Never, Row>, position: Int)]

  var count: Int { chunk.items.count + asides.count }
}
