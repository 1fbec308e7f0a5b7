import Dispatch
import Synchronization

/// Reads a large file with two buffers: one is filled on another queue while the other is used.
final class OverlappedReader {
  /// Bytes of each of the two buffers.
  static let bufferSize = 1 << 20

  private let calls: any FileSystemCalls
  private let buffers: [UnsafeMutableRawBufferPointer]
  private let queue = DispatchQueue(label: "batchproc.read")

  init(calls: any FileSystemCalls) {
    self.calls = calls
    buffers = (0..<2).map { _ in .allocate(byteCount: Self.bufferSize, alignment: 4096) }
  }

  deinit {
    for buffer in buffers { buffer.deallocate() }
  }

  /// Passes the content to `consume` piece by piece, at most `limit` bytes.
  ///
  /// - Throws: the error of `read(2)`, or the error of `consume`.
  package func read(
    _ file: borrowing Descriptor, limit: Int64,
    consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) {
    var remaining = limit
    var current = 0
    var pending = begin(file.raw, buffer: current, remaining: remaining)
    while true {
      let count = pending.wait()
      guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
      if count == 0 { return }
      remaining -= Int64(count)
      pending = begin(file.raw, buffer: 1 - current, remaining: remaining)
      do throws(BatchError) {
        try consume(UnsafeRawBufferPointer(rebasing: buffers[current][..<count]))
      } catch {
        // The other buffer is still being filled; that must end before the next file.
        _ = pending.wait()
        throw error
      }
      current = 1 - current
    }
  }

  private func begin(_ descriptor: Int32, buffer index: Int, remaining: Int64) -> PendingRead {
    let pending = PendingRead()
    guard remaining > 0 else {
      pending.finish(0)
      return pending
    }
    let wanted = Int(min(remaining, Int64(Self.bufferSize)))
    // The buffer belongs to the queue until the pending read is finished, and to the caller after it.
    nonisolated(unsafe) let target = UnsafeMutableRawBufferPointer(rebasing: buffers[index][..<wanted])
    let calls = calls
    queue.async { pending.finish(calls.read(descriptor, into: target)) }
    return pending
  }
}

/// A read that runs on another queue.
private final class PendingRead: Sendable {
  private let result = Mutex(0)
  private let done = DispatchSemaphore(value: 0)

  func finish(_ count: Int) {
    result.withLock { $0 = count }
    done.signal()
  }

  func wait() -> Int {
    done.wait()
    return result.withLock { $0 }
  }
}
