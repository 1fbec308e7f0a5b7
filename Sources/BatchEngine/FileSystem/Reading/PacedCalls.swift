import Dispatch
import Glibc
import Synchronization

/// System calls that limit the bytes read a second, over all threads.
package final class PacedCalls: FileSystemCalls {
  /// The longest sleep between two checks of the cancellation, in seconds.
  private static let longestSleep = 0.1
  /// Reads are cut so that there are several in a second.
  private static let readsPerSecond = 4
  private static let smallestRead = 4096

  private let calls: any FileSystemCalls
  private let bytesPerSecond: Double
  private let cancellation: Cancellation
  private let now: @Sendable () -> Double
  private let sleep: @Sendable (Double) -> Void
  /// The time at which the limit allows all bytes that were read so far.
  private let due = Mutex(0.0)

  /// - Parameters:
  ///   - bytesPerSecond: 1 or more.
  ///   - now: seconds of a monotonic clock.
  ///   - sleep: sleeps for this many seconds.
  init(
    _ calls: any FileSystemCalls, bytesPerSecond: Int64, cancellation: Cancellation,
    now: @escaping @Sendable () -> Double = { Double(DispatchTime.now().uptimeNanoseconds) / 1e9 },
    sleep: @escaping @Sendable (Double) -> Void = { usleep(UInt32($0 * 1_000_000)) }
  ) {
    self.calls = calls
    self.bytesPerSecond = Double(max(1, bytesPerSecond))
    self.cancellation = cancellation
    self.now = now
    self.sleep = sleep
  }

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
    let most = max(Self.smallestRead, Int(min(bytesPerSecond, 1e15)) / Self.readsPerSecond)
    let count = read(UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(most)))
    guard count > 0 else { return count }
    let seconds = Double(count) / bytesPerSecond
    let end = due.withLock { due in
      due = max(due, now()) + seconds
      return due
    }
    var rest = end - now()
    while rest > 0, !cancellation.isCancelled {
      sleep(min(rest, Self.longestSleep))
      rest = end - now()
    }
    return count
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
