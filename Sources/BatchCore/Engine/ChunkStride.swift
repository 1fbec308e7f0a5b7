/// How a tree is cut into chunks: the items of one operation.
public struct ChunkStride: Sendable, Hashable {
  /// Items in a chunk at most; 1 or more.
  public let count: Int
  /// A chunk ends with the item that reaches this many bytes.
  public let byteCount: Int64
  /// An item of this many bytes or more is a chunk of its own, and begins before the others.
  public let largeThreshold: Int64

  init(count: Int, byteCount: Int64, largeThreshold: Int64 = 8 << 20) {
    self.count = count
    self.byteCount = byteCount
    self.largeThreshold = largeThreshold
  }

  /// Up to 128 small files, or as many as reach 4 MiB.
  public static let automatic = ChunkStride(count: 128, byteCount: 4 << 20)

  /// Always `count` files, whatever they weigh, but for large ones.
  public static func fixed(_ count: Int) -> ChunkStride {
    ChunkStride(count: max(1, count), byteCount: .max)
  }
}
