/// The progress of a run in the last 30 s, without pauses.
struct ProgressWindow: Sendable {
  /// The work done in a number of seconds.
  struct Work: Sendable, Equatable {
    var files: Int
    var bytes: Int64
    var seconds: Double
  }

  private static let length = 30.0
  /// Points that are closer in time are merged.
  private static let step = 0.2

  /// The totals at recorded moments, in seconds without pauses; the oldest is the start of the window.
  private var points = [Work(files: 0, bytes: 0, seconds: 0)]
  private var now = Work(files: 0, bytes: 0, seconds: 0)
  private var last = 0.0
  private var wasPaused = false

  /// Records the progress.
  ///
  /// - Parameters:
  ///   - files: the files finished since the last call.
  ///   - bytes: the bytes since the start of the run.
  ///   - time: seconds since the start of the run, by a monotonic clock.
  ///   - isPaused: whether the run is paused from now on.
  mutating func add(files: Int, bytes: Int64, at time: Double, isPaused: Bool) {
    if !wasPaused { now.seconds += max(0, time - last) }
    last = max(last, time)
    wasPaused = isPaused
    now.files += files
    now.bytes = bytes
    if let newest = points.last, now.seconds - newest.seconds >= Self.step { points.append(now) }
    let start = now.seconds - Self.length
    let kept = points.lastIndex { $0.seconds <= start } ?? 0
    points.removeFirst(kept)
  }

  /// The work within the window; nil before any time has passed.
  var work: Work? {
    guard let start = points.first, now.seconds > start.seconds else { return nil }
    return Work(
      files: now.files - start.files, bytes: now.bytes - start.bytes, seconds: now.seconds - start.seconds)
  }
}
