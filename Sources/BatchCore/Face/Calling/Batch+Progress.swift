import BatchEngine
import Synchronization

extension Batch {
  /// The progress of a call, as an asynchronous sequence that ends when the call ends.
  ///
  /// ```swift
  /// let progress = Batch.Progress()
  /// async let report = Batch.compress(["photos"], progress: progress)
  /// for await state in progress { print(state.files, state.totalFiles ?? 0) }
  /// print(try await report.written)
  /// ```
  ///
  /// It never delays the run: a state that was not read before the next one is dropped. The last state is that at the end of
  /// the call. Use each object for one call and one iterating task. If the object is never passed to a call, its sequence does
  /// not end.
  public final class Progress: AsyncSequence, Sendable {
    /// The state of a run at one moment.
    public struct Snapshot: Sendable, Hashable {
      /// Files, or members of an archive, that are done, failed or skipped.
      public internal(set) var files = 0
      /// How many of these there were at the last checkpoint, when all their outputs had their names; 0 without
      /// ``Settings/operationsPerCheckpoint``.
      public internal(set) var safeFiles = 0
      /// Bytes that were read so far.
      public internal(set) var bytes: Int64 = 0
      /// The total number of files or members. They are counted during the run; nil until that is finished, and nil if they
      /// cannot be counted.
      public internal(set) var totalFiles: Int?
      /// The total number of bytes to read; nil as with ``totalFiles``.
      public internal(set) var totalBytes: Int64?
    }

    private struct State {
      var sampler: ProgressSampler?
      var last: Snapshot?
    }

    private let stream: AsyncStream<Snapshot>
    private let continuation: AsyncStream<Snapshot>.Continuation
    private let interval: Int
    private let state = Mutex(State())

    /// - Parameter interval: the time between two states, 1 ms or more. If nothing has changed, there is no new state.
    public init(every interval: Duration = .milliseconds(200)) {
      let milliseconds = interval / .milliseconds(1)
      // Longer than any run.
      self.interval = Int(Swift.max(1, Swift.min(milliseconds, 1e12)))
      (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Returns the states from now on; to be called once.
    public func makeAsyncIterator() -> AsyncStream<Snapshot>.Iterator { stream.makeAsyncIterator() }

    /// Takes a state from time to time, on its own queue, until ``end(with:)``.
    func begin(_ look: @escaping @Sendable () -> Snapshot) {
      let sampler = ProgressSampler(everyMilliseconds: interval) { [weak self] _ in self?.give(look()) }
      state.withLock { $0.sampler = sampler }
    }

    /// Ends the sequence.
    ///
    /// - Parameter last: the last state; nil if the run did not begin.
    func end(with last: Snapshot?) {
      // After the sampler has stopped, it cannot add a state after the last one.
      state.withLock { $0.sampler.take() }?.stop()
      if let last { give(last) }
      continuation.finish()
    }

    private func give(_ snapshot: Snapshot) {
      let isNew = state.withLock { state in
        defer { state.last = snapshot }
        return state.last != snapshot
      }
      if isNew { continuation.yield(snapshot) }
    }
  }
}

extension Batch.Progress.Snapshot {
  /// - Parameter total: nil until it is known.
  init(_ counters: Counters, of total: Counters.Snapshot?) {
    // This count is read first, so that it is never greater than the others.
    safeFiles = counters.safeCount
    let counts = counters.snapshot
    files = counts.done + counts.failed + counts.skipped
    bytes = counts.byteCount
    bytes.addClamped(counters.pending)
    totalFiles = total?.seen
    totalBytes = total?.byteCount
  }
}
