import Glibc

/// An open file descriptor that closes itself when its owner lets go of it.
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

  /// Gives up the ownership: whoever takes the number closes it.
  package consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }

  /// Closes now and reports what the kernel says, which matters after writing.
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
