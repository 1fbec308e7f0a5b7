import Dispatch
import Glibc

/// Reads a pipe, a terminal or a file that somebody opened, and stops waiting when the run stops.
package final class StreamReader {
  private let descriptor: Int32
  private let cancellation: Cancellation
  /// Pipes, sockets and terminals may have nothing to read yet; epoll(7) refuses most others.
  private let mayWait: Bool

  /// - Parameter descriptor: stays open as long as the reader lives; not closed by it.
  package init(descriptor: Int32, cancellation: Cancellation) {
    self.descriptor = descriptor
    self.cancellation = cancellation
    var raw = stat()
    let kind = fstat(descriptor, &raw) == 0 ? FileStatus(raw).kind : .unknown
    mayWait = kind == .fifo || kind == .socket || isatty(descriptor) == 1
  }

  /// Reads what there is, at least a byte; 0 at the end.
  ///
  /// - Throws: the error of `read(2)`, or the cancellation's reason.
  package func read(into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    while true {
      try cancellation.check()
      if mayWait, !isReadable {
        waitForBytes()
        continue
      }
      let count = retrying { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
      if count == -Int(EAGAIN), mayWait { continue }
      guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
      return count
    }
  }

  private var isReadable: Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return retrying { Int(poll(&request, 1, 0)) } > 0
  }

  /// Returns when there are bytes or an end, or when the run is cancelled.
  ///
  /// Each wait has a source of its own: one that has seen a hang-up is not armed again by libdispatch.
  private func waitForBytes() {
    let signal = DispatchSemaphore(value: 0)
    let closed = DispatchSemaphore(value: 0)
    let source = DispatchSource.makeReadSource(
      fileDescriptor: descriptor, queue: DispatchQueue(label: "batchproc.stream"))
    source.setEventHandler { signal.signal() }
    source.setCancelHandler { closed.signal() }
    let registration = cancellation.onCancel { signal.signal() }
    source.resume()
    signal.wait()
    cancellation.forget(registration)
    source.cancel()
    // Until then the number must not become another file's.
    closed.wait()
  }
}
