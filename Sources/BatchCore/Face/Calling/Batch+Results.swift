import BatchEngine
import Dispatch
import Synchronization

extension Batch {
  /// The rows of a call as an asynchronous sequence, in the order of the call's `each`.
  ///
  /// ```swift
  /// let files = Batch.Results { try await Batch.hash(["photos"], each: $0) }
  /// for try await file in files { print(file.path) }
  /// print(try await files.report().counts.failed)
  /// ```
  ///
  /// The call begins with the first row that is requested. A reader that is slower than the run delays it: at most ``capacity``
  /// rows wait, and then the run reads no more files. When the task that reads is cancelled, or its iterator is released, as at a
  /// `break`, the call is cancelled; rows that were not read are dropped. After a cancellation the sequence ends when the run has
  /// ended. Use each object for one iteration.
  public final class Results<Row: Sendable, Details: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Row
    public typealias Failure = BatchError

    /// The largest number of rows that wait for the reader.
    public let capacity: Int
    private let rows: RowBuffer<Row, Report<Details>>

    /// - Parameters:
    ///   - capacity: 1 or more.
    ///   - call: makes one call, and passes the closure on as `each`; started once, as a task. An error that is no `BatchError`
    ///     becomes one with the code `invalid`.
    public init(
      capacity: Int = 256,
      _ call: @escaping @Sendable (_ each: @escaping @Sendable (Row) -> Void) async throws -> Report<Details>
    ) {
      self.capacity = Swift.max(1, capacity)
      rows = RowBuffer(capacity: self.capacity, call)
    }

    /// Returns the rows; to be called once.
    public func makeAsyncIterator() -> Iterator { Iterator(rows) }

    /// Waits for the end of the call, and drops the rows that were not read. Begins the call if no row was requested.
    ///
    /// - Throws: the error of the call, also if the sequence has thrown it already.
    public func report() async throws(BatchError) -> Report<Details> { try await rows.report() }

    /// Takes the rows one by one.
    public struct Iterator: AsyncIteratorProtocol {
      /// Cancels the call when the iterator and all its copies are released.
      private final class Reading: Sendable {
        let rows: RowBuffer<Row, Report<Details>>

        init(_ rows: RowBuffer<Row, Report<Details>>) { self.rows = rows }

        deinit { rows.stop() }
      }

      private let reading: Reading

      fileprivate init(_ rows: RowBuffer<Row, Report<Details>>) { reading = Reading(rows) }

      /// The next row; nil at the end, and if the task is cancelled, after the run has ended.
      ///
      /// - Throws: once, the error of the call, after the rows before it.
      public func next() async throws(BatchError) -> Row? { try await reading.rows.next() }

      /// The same as ``next()``.
      public func next(isolation: isolated (any Actor)?) async throws(BatchError) -> Row? {
        try await reading.rows.next()
      }
    }
  }
}

/// Passes rows from the thread of a run to the task that reads them; the thread waits for room, and the task for rows.
private final class RowBuffer<Row: Sendable, Report: Sendable>: Sendable {
  typealias Call = @Sendable (_ each: @escaping @Sendable (Row) -> Void) async throws -> Report

  private struct State {
    /// The rows from ``first`` on wait for the reader.
    var rows: [Row] = []
    var first = 0
    var task: Task<Void, Never>?
    var hasBegun = false
    /// Whether further rows are dropped.
    var isDropping = false
    var hasThrown = false
    var outcome: Result<Report, BatchError>?
    /// Tasks that wait for a row or the end.
    var readers: [CheckedContinuation<Void, Never>] = []
    /// Threads that wait for room.
    var writers = 0

    var count: Int { rows.count - first }

    mutating func takeFirst() -> Row? {
      guard count > 0 else { return nil }
      defer {
        first += 1
        if first == rows.count { (rows, first) = ([], 0) }
      }
      return rows[first]
    }

    mutating func takeReaders() -> [CheckedContinuation<Void, Never>] {
      defer { readers = [] }
      return readers
    }

    mutating func takeWriters() -> Int {
      defer { writers = 0 }
      return writers
    }
  }

  private enum Step {
    case row(Row)
    case end(BatchError?)
    case wait
  }

  private let capacity: Int
  private let call: Call
  private let state = Mutex(State())
  private let room = DispatchSemaphore(value: 0)

  init(capacity: Int, _ call: @escaping Call) { (self.capacity, self.call) = (capacity, call) }

  // MARK: For the task that reads

  func next() async throws(BatchError) -> Row? {
    begin()
    while true {
      switch step() {
      case .row(let row): return row
      case .end(let error?): throw error
      case .end: return nil
      case .wait: await change { $0.count > 0 }
      }
    }
  }

  func report() async throws(BatchError) -> Report {
    drop()
    begin()
    while true {
      if let outcome = state.withLock({ $0.outcome }) { return try outcome.get() }
      await change { _ in false }
    }
  }

  /// Cancels the call, and drops the rows.
  func stop() {
    // First, so that a thread that waits for room finds the run cancelled.
    state.withLock { $0.task }?.cancel()
    drop()
  }

  private func drop() {
    let writers = state.withLock { state in
      state.isDropping = true
      (state.rows, state.first) = ([], 0)
      return state.takeWriters()
    }
    for _ in 0..<writers { room.signal() }
  }

  private func step() -> Step {
    let (step, writers) = state.withLock { state -> (Step, Int) in
      if let row = state.takeFirst() {
        // Not at each row, so that the thread does not change between waiting and running all the time.
        return (.row(row), state.count <= capacity / 2 ? state.takeWriters() : 0)
      }
      guard let outcome = state.outcome else { return (.wait, 0) }
      defer { state.hasThrown = true }
      if case .failure(let error) = outcome, !state.hasThrown { return (.end(error), 0) }
      return (.end(nil), 0)
    }
    for _ in 0..<writers { room.signal() }
    return step
  }

  /// Waits until there may be something new; cancels the call when the task is cancelled.
  ///
  /// - Parameter isThere: whether there is nothing to wait for. It is called under the lock.
  private func change(_ isThere: @Sendable (borrowing State) -> Bool) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          guard state.outcome == nil, !isThere(state) else { return true }
          state.readers.append(continuation)
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      stop()
    }
  }

  // MARK: For the call

  private func begin() {
    state.withLock { state in
      guard !state.hasBegun else { return }
      state.hasBegun = true
      state.task = Task { await self.run() }
    }
  }

  private func run() async {
    let outcome: Result<Report, BatchError>
    do {
      outcome = .success(try await call { self.put($0) })
    } catch {
      outcome = .failure(error as? BatchError ?? BatchError(.invalid, "\(error)"))
    }
    let readers = state.withLock { state in
      (state.outcome, state.task) = (outcome, nil)
      return state.takeReaders()
    }
    for reader in readers { reader.resume() }
  }

  /// Adds a row; then waits for room. Called on a thread of the run.
  private func put(_ row: Row) {
    let (readers, isFull) = state.withLock { state -> ([CheckedContinuation<Void, Never>], Bool) in
      guard !state.isDropping else { return ([], false) }
      state.rows.append(row)
      let isFull = state.count >= capacity
      if isFull { state.writers += 1 }
      return (state.takeReaders(), isFull)
    }
    for reader in readers { reader.resume() }
    if isFull { room.wait() }
  }
}
