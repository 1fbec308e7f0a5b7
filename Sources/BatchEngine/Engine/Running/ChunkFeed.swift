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
final class ChunkFeed<Source: BatchSource>: ChunkSupply {
  typealias Item = Source.Item
  typealias Row = Source.Row

  private struct State {
    var source: Source
    var planner: ChunkPlanner<Item, Row>
    let asked: AskedItems<Item>?
    /// How many of the paths that the source has left out were counted.
    var counted = 0
    var isAtEnd = false

    mutating func nextChunk() throws(BatchError) -> PlannedChunk<Item, Row>? {
      if let large = planner.takeLarge() { return large }
      // A source may take long for one item or for its end, so requests are taken before each item and after the end.
      while true {
        if let asked, let item = asked.take() {
          if !asked.isOrdered { return planner.chunk(beside: item, measure(item)) }
          if let chunk = planner.add(item, measure(item)) { return chunk }
        } else if isAtEnd {
          return planner.takeRest()
        } else {
          switch try source.next() {
          case .item(let item): if let chunk = planner.add(item, measure(item)) { return chunk }
          case .row(let row):
            let measure = ItemMeasure(
              weight: 0, count: source.count(ofRow: row), retained: source.retained(byRow: row))
            if let chunk = planner.add(aside: .row(row), measure) { return chunk }
          case .problem(let problem):
            if let chunk = planner.add(aside: .problem(problem), ItemMeasure(weight: 0)) { return chunk }
          case nil: isAtEnd = true
          }
        }
      }
    }

    private func measure(_ item: Item) -> ItemMeasure {
      ItemMeasure(
        weight: source.weight(of: item), count: source.count(of: item), retained: source.retained(by: item))
    }
  }

  private let state: Mutex<State>
  private let asked: AskedItems<Item>?

  init(source: sending Source, stride: ChunkStride) {
    asked = source.asked
    state = Mutex(State(source: source, planner: ChunkPlanner(stride: stride), asked: asked))
  }

  /// A source only plans, so each of its steps is short.
  var isReady: Bool { true }

  func next() throws(BatchError) -> PlannedChunk<Item, Row>? {
    try state.withLock { (state) throws(BatchError) in try state.nextChunk() }
  }

  func takeFiltered() -> Int {
    state.withLock { state in
      let filtered = state.source.filteredCount
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
