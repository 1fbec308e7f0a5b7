import Glibc

/// Reads a pipe, a terminal or a file that somebody else opened, and stops when the run does.
struct StreamReader {
  /// How long a wait for data lasts before the cancellation is looked at again, in milliseconds.
  private static let patience: Int32 = 100

  let descriptor: Int32
  let cancellation: Cancellation

  /// Reads what there is, at least a byte; 0 at the end.
  ///
  /// - Throws: the error of `read(2)`, or the cancellation's reason.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(BatchError) -> Int {
    while true {
      try cancellation.check()
      var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      let ready = retrying { Int(poll(&request, 1, Self.patience)) }
      if ready == 0 { continue }
      let count = retrying { Glibc.read(descriptor, buffer.baseAddress, buffer.count) }
      if count == -Int(EAGAIN) { continue }
      guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count)) }
      return count
    }
  }
}
