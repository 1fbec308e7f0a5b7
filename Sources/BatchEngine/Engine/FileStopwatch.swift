/// Measures how long a lane is at each file of a chunk.
struct FileStopwatch {
  private(set) var times: [FileTime] = []
  private var started = ContinuousClock.now
  /// How many there were when the item began.
  private var before = 0

  mutating func start() { started = ContinuousClock.now }

  mutating func leaveOut(_ duration: Duration) { started += duration }

  /// Ends the time of a file; the next time begins at the same moment.
  mutating func end(_ path: PathBytes) {
    let now = ContinuousClock.now
    times.append(FileTime(path, now - started))
    started = now
  }

  /// Ends the time of an item, which is that of its file unless its worker reported those of several.
  mutating func endItem(_ path: PathBytes?) {
    if let path, times.count == before { end(path) } else { start() }
    before = times.count
  }
}
