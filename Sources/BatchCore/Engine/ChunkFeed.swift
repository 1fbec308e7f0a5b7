import Synchronization

/// A planner over a source that one thread at a time may ask for the next chunk.
final class ChunkFeed<Item: Sendable>: Sendable {
  private let planner: Mutex<ChunkPlanner<Item>>

  init<Source: BatchSource>(source: sending Source, stride: ChunkStride) where Source.Item == Item {
    let weigher = source
    var source = source
    planner = Mutex(
      ChunkPlanner(stride: stride, weight: { weigher.weight(of: $0) }) { () throws(BatchError) in
        try source.next()
      })
  }

  /// - Throws: what the source throws.
  func next() throws(BatchError) -> Chunk<Item>? {
    try planner.withLock { (planner) throws(BatchError) in try planner.next() }
  }
}
