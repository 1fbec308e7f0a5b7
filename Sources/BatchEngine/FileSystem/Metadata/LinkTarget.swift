import Glibc

package enum LinkTarget {
  /// - Parameter folder: the descriptor of the folder that contains the link.
  /// - Throws: the error of `readlinkat(2)`.
  package static func read(_ name: PathBytes, in folder: Int32 = AT_FDCWD) throws(BatchError) -> PathBytes {
    try name.withCString { (pointer) throws(BatchError) in try read(pointer, in: folder) }
  }

  package static func read(_ name: UnsafePointer<CChar>, in folder: Int32) throws(BatchError) -> PathBytes {
    var capacity = 256
    while capacity <= 1 << 20 {
      var number = 0
      let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
        number = noted {
          retrying {
            buffer.withMemoryRebound(to: CChar.self) { room in
              room.baseAddress.map { readlinkat(folder, name, $0, capacity) } ?? 0
            }
          }
        }
        count = max(0, number)
      }
      guard number >= 0 else { throw .syscall("read the link", errno: Int32(truncatingIfNeeded: -number)) }
      if bytes.count < capacity { return PathBytes(bytes) }
      capacity *= 4
    }
    throw BatchError(.unreadable, "cannot read the link: its target is too long", errno: ENAMETOOLONG)
  }
}
