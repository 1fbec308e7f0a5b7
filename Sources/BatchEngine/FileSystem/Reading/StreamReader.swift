import Glibc

/// Reads an open pipe, terminal or file; a wait ends when the run is cancelled.
package final class StreamReader {
  private let descriptor: Int32
  private let cancellation: Cancellation
  /// Whether a read may have to wait: pipes, sockets and terminals. Other files are always ready for poll(2).
  private let mayWait: Bool

  /// - Parameter descriptor: must stay open as long as the reader exists, which does not close it.
  package init(descriptor: Int32, cancellation: Cancellation) {
    self.descriptor = descriptor
    self.cancellation = cancellation
    var raw = stat()
    let kind = fstat(descriptor, &raw) == 0 ? FileStatus(raw).kind : .unknown
    mayWait = kind == .fifo || kind == .socket || isatty(descriptor) == 1
  }

  /// Reads the available bytes, at least one; returns 0 at the end.
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

  /// Waits until there are bytes, the stream ends, or the run is cancelled.
  ///
  /// A read source of Dispatch cannot be used: on Linux its thread sometimes accesses the record of a cancelled source,
  /// and the process ends by SIGSEGV.
  private func waitForBytes() {
    let wake = WakePipe()
    let registration = cancellation.onCancel { wake.wake() }
    defer { cancellation.forget(registration) }
    // poll(2) skips a negative descriptor; then the cancellation is checked ten times a second.
    var requests = [descriptor, wake.readEnd].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    _ = poll(&requests, 2, wake.readEnd < 0 ? 100 : -1)
  }
}

/// A pipe that ends a wait in poll(2); its ends are negative if no descriptors are left. It is closed with its last reference,
/// so that a running handler never writes to the descriptor of another file.
private final class WakePipe: Sendable {
  let readEnd: Int32
  private let writeEnd: Int32

  init() {
    var ends: [Int32] = [-1, -1]
    _ = pipe(&ends)
    for end in ends where end >= 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (readEnd, writeEnd) = (ends[0], ends[1])
  }

  deinit {
    for end in [readEnd, writeEnd] where end >= 0 { close(end) }
  }

  func wake() { _ = write(writeEnd, [0], 1) }
}
