import Glibc
import Synchronization

/// A file that a lane is processing.
package struct FileInProgress: Sendable, Hashable {
  package let path: PathBytes
  /// How long the lane has been processing it, in milliseconds.
  package let age: Int

  package init(path: PathBytes, age: Int) {
    self.path = path
    self.age = age
  }
}

/// An item that can be named while it is processed.
package protocol FileItem {
  /// The file that is read or written for it; nil if there is none.
  var path: PathBytes? { get }
}

/// Which files the lanes of a run are processing, and since when. A message can then name the file on which a file system does
/// not respond.
///
/// A lane stores one number for each item; the path is looked up only when it is needed.
package final class FilesInProgress: Sendable {
  private let lanes = Mutex<[LanePosition]>([])
  /// How many lanes there are, read and written under the lock. The thread sanitizer does not see a lock that a thread waited
  /// for; without this atomic it reports a race when a new lane is first read.
  private let laneCount = Atomic<Int>(0)
  private let clock: @Sendable () -> UInt64

  /// - Parameter clock: milliseconds since any fixed moment.
  init(clock: @escaping @Sendable () -> UInt64 = FilesInProgress.milliseconds) {
    self.clock = clock
  }

  func addLane() -> LanePosition {
    let lane = LanePosition(clock: clock)
    lanes.withLock {
      $0.append(lane)
      laneCount.store($0.count, ordering: .releasing)
    }
    return lane
  }

  /// How many items the lanes have begun so far. Results that wait for others, and outputs without a name, count as well: it
  /// shows how fast the devices and the processors work.
  var begunCount: Int {
    let lanes = lanes.withLock { lanes in lanes.prefix(laneCount.load(ordering: .acquiring)) }
    return lanes.reduce(0) { $0 &+ $1.begunCount }
  }

  /// The files that lanes are processing, the oldest first. If several lanes process one file, the oldest part counts.
  package var files: [FileInProgress] {
    let now = clock()
    var oldest: [PathBytes: Int] = [:]
    let lanes = lanes.withLock { lanes in lanes.prefix(laneCount.load(ordering: .acquiring)) }
    for lane in lanes {
      guard let (path, since) = lane.current else { continue }
      oldest[path] = max(oldest[path] ?? 0, Int(clamping: now) - Int(clamping: since))
    }
    return oldest.map { FileInProgress(path: $0.key, age: $0.value) }
      .sorted { ($1.age, $0.path) < ($0.age, $1.path) }
  }

  /// The cheapest clock; its value changes every few milliseconds.
  package static func milliseconds() -> UInt64 {
    var now = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now)
    return UInt64(clamping: now.tv_sec) &* 1000 &+ UInt64(clamping: now.tv_nsec / 1_000_000)
  }
}

/// The item of its chunk that a lane is processing. Only the lane changes it.
final class LanePosition: Sendable {
  private static let indexBits: UInt64 = 24

  /// The items of the chunk; nil while the lane has none.
  private let items = Mutex<(any FileItems)?>(nil)
  /// Milliseconds, and the index of the item in the lower bits.
  private let position = Atomic<UInt64>(0)
  private let begun = Atomic<Int>(0)
  private let clock: @Sendable () -> UInt64

  init(clock: @escaping @Sendable () -> UInt64) {
    self.clock = clock
  }

  func begin(_ chunk: any FileItems) {
    items.withLock {
      $0 = chunk
      store(0)
    }
  }

  /// Called before each item.
  func advance(to index: Int) {
    store(index)
    // Only this thread changes it.
    begun.store(begunCount &+ 1, ordering: .relaxed)
  }

  var begunCount: Int { begun.load(ordering: .relaxed) }

  private func store(_ index: Int) {
    let index = UInt64(truncatingIfNeeded: index) & (1 << Self.indexBits - 1)
    position.store(clock() << Self.indexBits | index, ordering: .releasing)
  }

  func end() {
    items.withLock { $0 = nil }
  }

  /// The file that the lane is processing, and when it began.
  var current: (path: PathBytes, since: UInt64)? {
    items.withLock { items in
      let position = position.load(ordering: .acquiring)
      let index = Int(position & (1 << Self.indexBits - 1))
      return items?.path(at: index).map { ($0, position >> Self.indexBits) }
    }
  }
}

/// Items, each of which may have a file.
protocol FileItems: Sendable {
  func path(at index: Int) -> PathBytes?
}

extension Chunk: FileItems {
  func path(at index: Int) -> PathBytes? {
    items.indices.contains(index) ? (items[index] as? any FileItem)?.path : nil
  }
}

extension WalkItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .file(let record): record.path
    case .standardInput: "-"
    }
  }
}

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
