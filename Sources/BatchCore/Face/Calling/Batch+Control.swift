import BatchEngine
import Synchronization

extension Batch {
  /// Pauses, resumes and limits calls, before they begin and while they run.
  ///
  /// ```swift
  /// let control = Batch.Control()
  /// var options = Batch.CompressOptions()
  /// options.settings.control = control
  /// async let report = Batch.compress(["photos"], options)
  /// control.setRate(bytesPerSecond: 20 << 20)
  /// print(try await report.written)
  /// ```
  ///
  /// One control may serve several calls, also at the same time; each request holds for all of them and for later calls. The
  /// methods return at once, and may be called from any thread or task. No request changes the results of a call.
  public final class Control: Sendable {
    private struct State {
      var wishes = RunControl.Wishes()
      /// The runs of the calls in progress.
      var runs: [RunContext] = []
    }

    private let state = Mutex(State())

    /// A control without requests: the calls use their settings.
    public init() {}

    /// Holds the calls back until ``resume()``: they read no further files, and stop within the large ones. A call that is
    /// cancelled meanwhile ends.
    public func pause() { request { $0.isPaused = true } }

    /// Lets the calls go on; does nothing if they are not paused.
    public func resume() { request { $0.isPaused = false } }

    /// Changes the number of operations at once of each call.
    ///
    /// - Parameter count: 1 or more; what descriptors and threads do not allow is reduced. Nil lets the calls find the number.
    public func setConcurrency(_ count: Int?) {
      request { $0.number = count.map { .fixed(Swift.max(1, $0)) } ?? .auto }
    }

    /// Changes the limit of the bytes that each call reads per second, in place of ``Settings/bytesPerSecond``.
    ///
    /// - Parameter bytesPerSecond: 1 or more; nil for no limit.
    public func setRate(bytesPerSecond: Int64?) {
      request { $0.rate = bytesPerSecond.map { .bytes(Swift.max(1, $0)) } ?? .off }
    }

    private func request(_ change: (inout RunControl.Wishes) -> Void) {
      var news = RunControl.Wishes()
      change(&news)
      // One lock for the request and the runs: of two requests the later one then holds for every run.
      state.withLock { state in
        state.wishes = state.wishes.updated(by: news)
        for run in state.runs { run.apply(news) }
      }
    }

    /// Begins to steer a run, which was made with ``RunLimits/isSteered``, as was requested so far.
    func add(_ run: RunContext) {
      state.withLock { state in
        state.runs.append(run)
        run.apply(state.wishes)
      }
    }

    func remove(_ run: RunContext) { state.withLock { $0.runs.removeAll { $0 === run } } }
  }
}
