import Synchronization

/// Supplies the chunks of a run.
protocol ChunkSupply<Item, Row>: AnyObject, Sendable {
  associatedtype Item: Sendable
  associatedtype Row: Sendable

  /// Whether ``next()`` would return a chunk, the end or an error without waiting.
  var isReady: Bool { get }

  /// The next chunk, nil at the end. Called only when ``isReady`` is true.
  ///
  /// - Throws: the error of the source or reader.
  func next() throws(BatchError) -> PlannedChunk<Item, Row>?

  /// How many paths were left out since the last call.
  func takeFiltered() -> Int

  /// Whether the collector requested items that were not taken yet; ``next()`` returns them first.
  var hasAsked: Bool { get }

  /// Calls `asked` for each item that the collector requests.
  func onAsk(_ asked: @escaping @Sendable () -> Void)

  /// Begins to make the chunks that ``next()`` returns.
  ///
  /// - Parameter appeared: called on any thread when ``isReady`` has become true.
  func start(beside lanes: LanePool, appeared: @escaping @Sendable () -> Void)

  /// Ends what ``start(beside:appeared:)`` began; returns when no more chunks are made. Called at the end of the run.
  func stop()

  /// Makes all chunks on the calling thread, instead of the calls above.
  ///
  /// - Throws: the error of the source, the reader or `body`.
  func forEach(_ body: @escaping (PlannedChunk<Item, Row>) throws(BatchError) -> Void) throws(BatchError)
}

/// Makes chunks of what a source yields. One thread at a time may request the next chunk.
final class ChunkFeed<Item: Sendable, Row: Sendable>: ChunkSupply {
  private struct State {
    var planner: ChunkPlanner<Item, Row>
    let next: () throws(BatchError) -> Yielded<Item, Row>?
    let asked: AskedItems<Item>?
    let measure: (Yielded<Item, Row>) -> ItemMeasure
    /// How many paths the source has left out so far, and how many of them were counted.
    let filtered: () -> Int
    var counted = 0
    var isAtEnd = false

    mutating func nextChunk() throws(BatchError) -> PlannedChunk<Item, Row>? {
      if let large = planner.takeLarge() { return large }
      // A source may take long for one item or for its end, so requests are taken before each item and after the end.
      while true {
        if let asked, let item = asked.take() {
          let measure = measure(.item(item))
          if !asked.isOrdered { return planner.chunk(beside: item, measure) }
          if let chunk = planner.add(.item(item), measure) { return chunk }
        } else if isAtEnd {
          return planner.takeRest()
        } else if let yielded = try next() {
          if let chunk = planner.add(yielded, measure(yielded)) { return chunk }
        } else {
          isAtEnd = true
        }
      }
    }
  }

  private let state: Mutex<State>
  private let asked: AskedItems<Item>?

  init<Source: BatchSource>(source: sending Source, stride: ChunkStride)
  where Source.Item == Item, Source.Row == Row {
    let speaker = source
    var source = source
    let asked = source.asked
    self.asked = asked
    state = Mutex(
      State(
        planner: ChunkPlanner(stride: stride),
        next: { () throws(BatchError) in try source.next() }, asked: asked,
        measure: { yielded in
          switch yielded {
          case .item(let item):
            ItemMeasure(
              weight: speaker.weight(of: item), count: speaker.count(of: item),
              retained: speaker.retained(by: item))
          case .row(let row):
            ItemMeasure(weight: 0, count: speaker.count(ofRow: row), retained: speaker.retained(byRow: row))
          case .problem: ItemMeasure(weight: 0)
          }
        },
        filtered: { source.filteredCount }))
  }

  /// A source only plans, so each of its steps is short.
  var isReady: Bool { true }

  func next() throws(BatchError) -> PlannedChunk<Item, Row>? {
    try state.withLock { (state) throws(BatchError) in try state.nextChunk() }
  }

  func takeFiltered() -> Int {
    state.withLock { state in
      let filtered = state.filtered()
      defer { state.counted = filtered }
      return filtered - state.counted
    }
  }

  var hasAsked: Bool { asked.map { !$0.isEmpty } ?? false }

  func onAsk(_ asked: @escaping @Sendable () -> Void) { self.asked?.onAsk(asked) }

  func start(beside lanes: LanePool, appeared: @escaping @Sendable () -> Void) {}

  func stop() {}

  func forEach(_ body: @escaping (PlannedChunk<Item, Row>) throws(BatchError) -> Void) throws(BatchError) {
    while let chunk = try next() { try body(chunk) }
  }
}
