import Dispatch
import Glibc
import Synchronization

/// System calls that limit the bytes read a second, over all threads. The limit may change at any time, from any thread.
package final class PacedCalls: FileSystemCalls {
  /// The longest sleep between two checks of the cancellation and of the limit, in seconds.
  private static let longestSleep = 0.1
  /// Reads are cut so that there are several in a second.
  private static let readsPerSecond = 4
  private static let smallestRead = 4096

  private struct Pace {
    /// Nil for no limit.
    var bytesPerSecond: Double?
    /// The time at which the limit allows all bytes that were read so far.
    var due = 0.0
    /// How often the limit was changed.
    var changes = 0
  }

  private let calls: any FileSystemCalls
  private let cancellation: Cancellation
  private let now: @Sendable () -> Double
  private let sleep: @Sendable (Double) -> Void
  private let pace: Mutex<Pace>
  /// The bytes of the largest read; 0 for no limit. Most reads look at no more than this.
  private let largestRead: Atomic<Int>

  /// - Parameters:
  ///   - bytesPerSecond: 1 or more; nil for no limit.
  ///   - now: seconds of a monotonic clock.
  ///   - sleep: sleeps for this many seconds.
  init(
    _ calls: any FileSystemCalls, bytesPerSecond: Int64?, cancellation: Cancellation,
    now: @escaping @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 },
    sleep: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1_000_000)) }
  ) {
    self.calls = calls
    self.cancellation = cancellation
    self.now = now
    self.sleep = sleep
    pace = Mutex(Pace(bytesPerSecond: bytesPerSecond.map { Double(max(1, $0)) }))
    largestRead = Atomic(Self.largestRead(at: bytesPerSecond))
  }

  private static func largestRead(at bytesPerSecond: Int64?) -> Int {
    bytesPerSecond.map { max(smallestRead, Int(clamping: $0) / readsPerSecond) } ?? 0
  }

  /// Changes the limit. Reads that wait go on at once.
  ///
  /// - Parameter bytesPerSecond: 1 or more; nil for no limit.
  package func setRate(_ bytesPerSecond: Int64?) {
    pace.withLock { pace in
      pace.bytesPerSecond = bytesPerSecond.map { Double(max(1, $0)) }
      pace.due = 0
      pace.changes += 1
    }
    largestRead.store(Self.largestRead(at: bytesPerSecond), ordering: .relaxed)
  }

  /// The limit in bytes; nil for none.
  package var bytesPerSecond: Int64? { pace.withLock { $0.bytesPerSecond.map { Int64(min($0, 1e18)) } } }

  package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    paced(buffer) { calls.read(descriptor, into: $0) }
  }

  package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: off_t) -> Int
  {
    paced(buffer) { calls.read(descriptor, into: $0, at: offset) }
  }

  private func paced(
    _ buffer: UnsafeMutableRawBufferPointer, _ read: (UnsafeMutableRawBufferPointer) -> Int
  ) -> Int {
    let most = largestRead.load(ordering: .relaxed)
    guard most > 0 else { return read(buffer) }
    let count = read(UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(most)))
    if count > 0 { wait(after: count) }
    return count
  }

  package var largestCopy: UInt64 {
    let most = largestRead.load(ordering: .relaxed)
    return most > 0 ? UInt64(most) : calls.largestCopy
  }

  package func didCopy(_ count: Int) { wait(after: count) }

  /// Waits until the limit allows the bytes that were read.
  private func wait(after count: Int) {
    let start = now()
    let turn = pace.withLock { pace -> (end: Double, changes: Int)? in
      guard let rate = pace.bytesPerSecond else { return nil }
      pace.due = max(pace.due, start) + Double(count) / rate
      return (pace.due, pace.changes)
    }
    guard let turn else { return }
    var rest = turn.end - now()
    while rest > 0, !cancellation.isCancelled, pace.withLock({ $0.changes }) == turn.changes {
      sleep(min(rest, Self.longestSleep))
      rest = turn.end - now()
    }
  }

  package func open(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
    calls.open(path, at: directory, flags: flags)
  }

  package func openBeneath(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
    calls.openBeneath(path, at: directory, flags: flags)
  }

  package func status(of descriptor: Int32, into status: inout stat) -> Int32 {
    calls.status(of: descriptor, into: &status)
  }

  package func status(
    of path: UnsafePointer<CChar>, at directory: Int32, followingLinks: Bool, into status: inout stat
  ) -> Int32 {
    calls.status(of: path, at: directory, followingLinks: followingLinks, into: &status)
  }

  package func readEntries(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    calls.readEntries(descriptor, into: buffer)
  }

  package func fileSystemType(of descriptor: Int32) -> Int? { calls.fileSystemType(of: descriptor) }

  package func tryReadLease(on descriptor: Int32) -> Int32 { calls.tryReadLease(on: descriptor) }

  package func syncContent(of descriptor: Int32) -> Int32 { calls.syncContent(of: descriptor) }

  package func syncFileSystem(of descriptor: Int32) -> Int32 { calls.syncFileSystem(of: descriptor) }

  package func change(_ change: FileChange, _ place: FileChangePlace, _ call: () -> Int) -> Int {
    calls.change(change, place, call)
  }
}
