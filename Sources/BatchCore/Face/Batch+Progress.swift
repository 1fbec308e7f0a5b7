import BatchEngine
import Synchronization

extension Batch {
  /// How far a call is, as an asynchronous sequence that ends with the call.
  ///
  /// ```swift
  /// let progress = Batch.Progress()
  /// async let report = Batch.compress(["photos"], progress: progress)
  /// for await state in progress { print(state.files, state.totalFiles ?? 0) }
  /// print(try await report.written)
  /// ```
  ///
  /// It never holds up the run: a state that was not taken before the next one is dropped. The last state is that of the end.
  /// One object is for one call and for one task that iterates. Where it is not handed to a call, the sequence does not end.
  public final class Progress: AsyncSequence, Sendable {
    /// The state of a run at one moment.
    public struct Snapshot: Sendable, Hashable {
      /// Files, or members of an archive, that are done, failed or skipped.
      public internal(set) var files = 0
      /// How many of these there were at the last checkpoint, each with what was made of it under its name; 0 without
      /// ``Settings/operationsPerCheckpoint``.
      public internal(set) var safeFiles = 0
      /// Bytes that were read.
      public internal(set) var bytes: Int64 = 0
      /// How many there are altogether; nil until they are counted, which is done beside the run, and where they cannot be.
      public internal(set) var totalFiles: Int?
      /// How many bytes there are to read; nil as with ``totalFiles``.
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

    /// - Parameter interval: from one state to the next, 1 ms or more. Nothing comes where nothing has changed.
    public init(every interval: Duration = .milliseconds(200)) {
      let milliseconds = interval / .milliseconds(1)
      // Longer than any run.
      self.interval = Int(Swift.max(1, Swift.min(milliseconds, 1e12)))
      (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Gives the states that come from now on; to be called once.
    public func makeAsyncIterator() -> AsyncStream<Snapshot>.Iterator { stream.makeAsyncIterator() }

    /// Looks from time to time, on a queue of its own, until ``end(with:)``.
    func begin(_ look: @escaping @Sendable () -> Snapshot) {
      let sampler = ProgressSampler(everyMilliseconds: interval) { [weak self] _ in self?.give(look()) }
      state.withLock { $0.sampler = sampler }
    }

    /// Ends the sequence.
    ///
    /// - Parameter last: nil where the run did not begin.
    func end(with last: Snapshot?) {
      // When it has stopped, no look overtakes the last state.
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
    // Before the others, so that it is never more than they are.
    safeFiles = counters.safeCount
    let counts = counters.snapshot
    files = counts.done + counts.failed + counts.skipped
    bytes = counts.byteCount + counters.pending
    totalFiles = total?.seen
    totalBytes = total?.byteCount
  }
}
