import Glibc

/// An open file descriptor, closed when its owner releases it.
package struct Descriptor: ~Copyable, Sendable {
  /// The kernel's number; valid as long as this value lives.
  package let raw: Int32

  /// Takes over a descriptor that is open and has no other owner.
  package init(owning raw: Int32) {
    self.raw = raw
  }

  deinit {
    _ = Glibc.close(raw)
  }

  /// The read end of a pipe that contains the bytes. Bytes that do not fit into the pipe are cut off.
  ///
  /// - Throws: the error of making the pipe.
  package static func pipe(holding bytes: [UInt8]) throws(BatchError) -> Descriptor {
    var ends: [Int32] = [-1, -1]
    guard Glibc.pipe(&ends) == 0 else { throw .syscall("make a pipe", errno: errno) }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    _ = bytes.withUnsafeBytes { Glibc.write(ends[1], $0.baseAddress, $0.count) }
    _ = Glibc.close(ends[1])
    return Descriptor(owning: ends[0])
  }

  /// Gives up the ownership: the caller closes the descriptor.
  package consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  /// Closes now and reports the kernel's error, which matters after writing.
  ///
  /// - Throws: the error of `close(2)`. The descriptor is gone in either case: Linux frees it before
  ///   it reports, so there is nothing to retry, also after EINTR.
  package consuming func close() throws(BatchError) {
    let number = raw
    discard self
    if Glibc.close(number) != 0, errno != EINTR {
      throw .syscall("close", errno: errno)
    }
  }
}
