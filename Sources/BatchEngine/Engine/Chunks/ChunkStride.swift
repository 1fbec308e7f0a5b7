/// How a tree is cut into chunks: the items of one operation.
public struct ChunkStride: Sendable, Hashable {
  /// Items in a chunk at most, once the first chunks are past; 1 or more.
  public let count: Int
  /// A chunk ends with the item that reaches this many bytes.
  public let byteCount: Int64
  /// An item of this many bytes or more is a chunk of its own, and begins before the others.
  public let largeThreshold: Int64
  /// Whether the first chunks are shorter, so that small trees are shared out and rows come early.
  public let rises: Bool

  package init(count: Int, byteCount: Int64, largeThreshold: Int64 = 8 << 20, rises: Bool = false) {
    self.count = count
    self.byteCount = byteCount
    self.largeThreshold = largeThreshold
    self.rises = rises
  }

  /// Up to 32 small files, soon up to 256, or as many as reach 4 MiB.
  public static let automatic = ChunkStride(count: 256, byteCount: 4 << 20, rises: true)

  /// Always `count` files, whatever they weigh, but for large ones.
  public static func fixed(_ count: Int) -> ChunkStride {
    ChunkStride(count: max(1, count), byteCount: .max)
  }

  /// For the segments of an archive: as many files as make a frame of `byteCount` bytes.
  ///
  /// - Parameters:
  ///   - count: files in a segment at most; nil for a bound that small files alone reach.
  ///   - byteCount: a segment ends with the file that reaches this.
  public static func segments(count: Int?, byteCount: Int64) -> ChunkStride {
    ChunkStride(count: max(1, count ?? 1024), byteCount: byteCount)
  }

  /// The items in the chunk of an index at most.
  package func count(at index: Int) -> Int {
    // Doubled after each 16 chunks: by the index alone, so that the plan is the same in every run.
    rises ? min(count, 32 << min(index / 16, 16)) : count
  }
}
