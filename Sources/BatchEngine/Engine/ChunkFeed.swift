import Synchronization

/// A planner over a source that one thread at a time may ask for the next chunk.
final class ChunkFeed<Item: Sendable>: Sendable {
  /// A chunk with what the source says of it.
  struct Portion: Sendable {
    package let chunk: Chunk<Item>
    /// How many paths its items stand for.
    let pathCount: Int
    /// Bytes that stay in memory until its result is collected.
    package let retained: Int64
  }

  private struct State {
    var planner: ChunkPlanner<Item>
    let count: (Item) -> Int
    let retained: (Item) -> Int64
    /// What the source has left out so far, and how much of it was taken notice of.
    let filtered: () -> Int
    var counted = 0
  }

  private let state: Mutex<State>

  init<Source: BatchSource>(source: sending Source, stride: ChunkStride) where Source.Item == Item {
    let speaker = source
    var source = source
    state = Mutex(
      State(
        planner: ChunkPlanner(stride: stride, weight: { speaker.weight(of: $0) }) { () throws(BatchError) in
          try source.next()
        },
        count: { speaker.count(of: $0) }, retained: { speaker.retained(by: $0) },
        filtered: { source.filteredCount }))
  }

  /// - Throws: what the source throws.
  package func next() throws(BatchError) -> Portion? {
    try state.withLock { (state) throws(BatchError) in
      guard let chunk = try state.planner.next() else { return nil }
      return Portion(
        chunk: chunk, pathCount: chunk.items.reduce(0) { $0 + state.count($1) },
        retained: chunk.items.reduce(0) { $0 + state.retained($1) })
    }
  }

  /// How many paths were left out since the last call.
  func takeFiltered() -> Int {
    state.withLock { state in
      let filtered = state.filtered()
      defer { state.counted = filtered }
      return filtered - state.counted
    }
  }
}
