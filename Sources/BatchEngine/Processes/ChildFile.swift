import Glibc

/// A file that a child gets as standard input or output. It stays open until this object is released.
package final class ChildFile: Sendable {
  private let descriptor: Descriptor

  package var raw: Int32 { descriptor.raw }

  /// Takes over a descriptor that is open and has no other owner.
  package init(owning raw: Int32) { descriptor = Descriptor(owning: raw) }

  /// Duplicates an open descriptor, with which it shares its position.
  ///
  /// - Throws: the error of duplicating it, without a path.
  package init(duplicating file: Int32) throws(BatchError) {
    let copy = fcntl(file, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw .syscall("open", errno: errno) }
    descriptor = Descriptor(owning: copy)
  }

  /// Sets the position to the beginning, for another child.
  package func rewind() { lseek(raw, 0, SEEK_SET) }
}
