/// Measures how long a lane processes each file of a chunk.
struct FileStopwatch {
  private(set) var times: [FileTime] = []
  private var started = ContinuousClock.now
  /// The number of measured times when the item began.
  private var before = 0

  mutating func start() { started = ContinuousClock.now }

  mutating func leaveOut(_ duration: Duration) { started += duration }

  /// Stops the time of a file; the time of the next one starts at the same moment.
  mutating func end(_ path: PathBytes) {
    let now = ContinuousClock.now
    times.append(FileTime(path, now - started))
    started = now
  }

  /// Stops the time of an item. It counts for the item's file, unless the worker already reported times of several files.
  mutating func endItem(_ path: PathBytes?) {
    if let path, times.count == before { end(path) } else { start() }
    before = times.count
  }
}
