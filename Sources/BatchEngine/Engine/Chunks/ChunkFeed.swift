import Synchronization

/// A planner over a source that one thread at a time may ask for the next chunk.
final class ChunkFeed<Item: Sendable>: Sendable {
  private struct State {
    var planner: ChunkPlanner<Item>
    /// What the source has left out so far, and how much of it was taken notice of.
    let filtered: () -> Int
    var counted = 0
  }

  private let state: Mutex<State>
  private let asked: AskedItems<Item>?

  init<Source: BatchSource>(source: sending Source, stride: ChunkStride) where Source.Item == Item {
    let speaker = source
    var source = source
    let asked = source.asked
    self.asked = asked
    var isAtEnd = false
    state = Mutex(
      State(
        planner: ChunkPlanner(
          stride: stride,
          measure: {
            ItemMeasure(
              weight: speaker.weight(of: $0), count: speaker.count(of: $0), retained: speaker.retained(by: $0)
            )
          }
        ) { () throws(BatchError) in
          if let item = asked?.take() { return item }
          guard !isAtEnd else { return nil }
          let item = try source.next()
          isAtEnd = item == nil
          return item
        },
        filtered: { source.filteredCount }))
  }

  /// - Throws: what the source throws.
  func next() throws(BatchError) -> PlannedChunk<Item>? {
    try state.withLock { (state) throws(BatchError) in try state.planner.next() }
  }

  /// Whether the collector asked for items that were not taken yet.
  var hasAsked: Bool { asked.map { !$0.isEmpty } ?? false }

  /// Has `asked` called for each item that the collector asks for.
  func onAsk(_ asked: @escaping @Sendable () -> Void) { self.asked?.onAsk(asked) }

  /// How many paths were left out since the last call.
  func takeFiltered() -> Int {
    state.withLock { state in
      let filtered = state.filtered()
      defer { state.counted = filtered }
      return filtered - state.counted
    }
  }
}
