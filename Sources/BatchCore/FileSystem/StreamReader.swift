import Dispatch
import Glibc
import Synchronization

/// Reads a pipe, a terminal or a file that somebody opened, and stops waiting when the run stops.
final class StreamReader {
  private let descriptor: Int32
  private let cancellation: Cancellation
  private let arrival: Arrival?

  /// - Parameter descriptor: stays open as long as the reader lives; not closed by it.
  init(descriptor: Int32, cancellation: Cancellation) {
    self.descriptor = descriptor
    self.cancellation = cancellation
    var raw = stat()
    let kind = fstat(descriptor, &raw) == 0 ? FileStatus(raw).kind : .unknown
    // Regular files and most devices are always readable, and epoll(7) refuses them.
    let waits = kind == .fifo || kind == .socket || isatty(descriptor) == 1
    arrival = waits ? Arrival(at: descriptor, cancellation: cancellation) : nil
  }

  /// Reads what there is, at least a byte; 0 at the end.
  ///
  /// - Throws: the error of `read(2)`, or the cancellation's reason.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    while true {
      arrival?.wait()
      try cancellation.check()
      let count = retrying { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
      if count == -Int(EAGAIN), arrival != nil { continue }
      guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
      return count
    }
  }
}

/// Waits for bytes on a descriptor by a read source, or for the end of the run.
private final class Arrival: Sendable {
  // Dispatch objects may be used from any thread; their protocols do not say so.
  private nonisolated(unsafe) let source: any DispatchSourceRead
  private let isSuspended = Mutex(true)
  private let signal = DispatchSemaphore(value: 0)

  init(at descriptor: Int32, cancellation: Cancellation) {
    source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "batchproc.stream"))
    // Suspended by its own handler, so that it tells once for each wait and not as long as bytes lie there.
    source.setEventHandler { [weak self] in self?.suspend() }
    let signal = signal
    cancellation.onCancel { signal.signal() }
  }

  deinit {
    source.cancel()
    // A suspended source must not be let go of.
    if isSuspended.withLock({ $0 }) { source.resume() }
  }

  func wait() {
    isSuspended.withLock { isSuspended in
      if isSuspended { source.resume() }
      isSuspended = false
    }
    signal.wait()
  }

  private func suspend() {
    isSuspended.withLock { isSuspended in
      if !isSuspended { source.suspend() }
      isSuspended = true
    }
    signal.signal()
  }
}
