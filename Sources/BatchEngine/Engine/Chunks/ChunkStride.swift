/// How a tree is cut into chunks, each of which one operation processes.
public struct ChunkStride: Sendable, Hashable {
  /// The most items in a chunk, 1 or more. The first chunks may have fewer.
  public let count: Int
  /// A chunk ends with the item that reaches this many bytes.
  public let byteCount: Int64
  /// An item of this many bytes or more is a chunk of its own, and begins before the others.
  public let largeThreshold: Int64
  /// Whether the first chunks are shorter, so that all lanes get a part of a small tree and rows appear early.
  public let rises: Bool

  package init(count: Int, byteCount: Int64, largeThreshold: Int64 = 8 << 20, rises: Bool = false) {
    self.count = count
    self.byteCount = byteCount
    self.largeThreshold = largeThreshold
    self.rises = rises
  }

  /// Up to 32 small files at first and later up to 256, or until they reach 4 MiB.
  public static let automatic = ChunkStride(count: 256, byteCount: 4 << 20, rises: true)

  /// Always `count` files, regardless of their weight, except for large files.
  public static func fixed(_ count: Int) -> ChunkStride {
    ChunkStride(count: max(1, count), byteCount: .max)
  }

  /// For the segments of an archive: enough files for a frame of `byteCount` bytes.
  ///
  /// - Parameters:
  ///   - count: files in a segment at most; nil for a limit that only small files reach.
  ///   - byteCount: a segment ends with the file that reaches this.
  public static func segments(count: Int?, byteCount: Int64) -> ChunkStride {
    ChunkStride(count: max(1, count ?? 1024), byteCount: byteCount)
  }

  /// The most items in the chunk with this index.
  package func count(at index: Int) -> Int {
    // Doubled after every 64 chunks, so that the last chunks are a small part of the run: on a slow network one file takes a tenth of a
    // second, and a chunk of 256 half a minute. It depends only on the index, so that the plan is the same in every run.
    rises ? min(count, 32 << min(index / 64, 16)) : count
  }
}
