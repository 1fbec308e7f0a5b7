import CLinux
import Dispatch
import Synchronization

/// Supplies the chunks of a reader, which runs on its own thread while lanes process earlier chunks.
///
/// It makes one chunk more than the run has admitted, then waits.
final class ReaderFeed<Reader: BatchReader>: ChunkSupply {
  typealias Item = Reader.Item
  typealias Row = Reader.Row

  private struct State {
    var ready: PlannedChunk<Item, Row>?
    var isAtEnd = false
    var failure: BatchError?
    /// Whether the reader waits until its chunk is taken.
    var isWaiting = false
    var isStopped = false
  }

  /// Nil once the reader has started.
  private let reader: Mutex<Reader?>
  private let run: RunContext
  private let state = Mutex(State())
  private let room = DispatchSemaphore(value: 0)
  private let group = DispatchGroup()
  private let registration = Mutex(0)

  init(_ reader: sending Reader, _ run: RunContext) {
    self.reader = Mutex(reader)
    self.run = run
  }

  var isReady: Bool { state.withLock { $0.ready != nil || $0.isAtEnd } }

  func next() throws(BatchError) -> PlannedChunk<Item, Row>? {
    let (chunk, failure) = state.withLock { state in
      let chunk = state.ready.take()
      if chunk != nil, state.isWaiting {
        state.isWaiting = false
        room.signal()
      }
      return (chunk, chunk == nil ? state.failure : nil)
    }
    if let failure { throw failure }
    return chunk
  }

  func takeFiltered() -> Int { 0 }

  /// Collectors do not request items from a reader.
  var hasAsked: Bool { false }

  func onAsk(_ asked: @escaping @Sendable () -> Void) {}

  func start(beside lanes: LanePool, appeared: @escaping @Sendable () -> Void) {
    let registration = run.cancellation.onCancel { [weak self] in self?.letGo() }
    self.registration.withLock { $0 = registration }
    lanes.makeHelper().async(group: group) {
      // Its calls are not counted as waiting for a device: it reads sequentially, and more operations would not help.
      clinux_note_calls(0)
      defer { clinux_note_calls(1) }
      var failure: BatchError?
      do throws(BatchError) {
        try self.read { (chunk) throws(BatchError) in try self.put(chunk, appeared) }
      } catch {
        failure = error
      }
      self.state.withLock { state in
        state.isAtEnd = true
        state.failure = failure
      }
      appeared()
    }
  }

  func stop() {
    letGo()
    group.wait()
    run.cancellation.forget(registration.withLock { $0 })
  }

  func forEach(_ body: @escaping (PlannedChunk<Item, Row>) throws(BatchError) -> Void) throws(BatchError) {
    try read(body)
  }

  private func read(_ handOver: @escaping (PlannedChunk<Item, Row>) throws(BatchError) -> Void)
    throws(BatchError)
  {
    let reader = reader.withLock { stored in
      let reader = stored
      stored = nil
      return reader
    }
    guard let reader else { return }
    let context = Reader.Context(run, handOver)
    try reader.read(in: context)
    try context.finish()
  }

  /// Waits until the previous chunk has been taken.
  private func put(_ chunk: PlannedChunk<Item, Row>, _ appeared: () -> Void) throws(BatchError) {
    while true {
      let isPut = state.withLock { state in
        if state.isStopped || state.ready == nil {
          state.ready = chunk
          return true
        }
        state.isWaiting = true
        return false
      }
      if isPut { break }
      room.wait()
    }
    appeared()
  }

  /// Wakes the reader, so that it sees the end of the run.
  private func letGo() {
    state.withLock { state in
      state.isStopped = true
      if state.isWaiting {
        state.isWaiting = false
        room.signal()
      }
    }
  }
}
