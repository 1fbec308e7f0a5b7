import CLinux
import Glibc

/// Files that are read as a whole: those of the kernel, and lists that a user wrote.
package enum SmallFile {
  /// Reads to the end, whatever size the file claims; pipes are read until they are closed.
  ///
  /// - Parameter limit: the most bytes the file may have.
  /// - Throws: the error of `openat(2)` or `read(2)`, `.malformed` for a file above the limit.
  package static func read(_ path: PathBytes, limit: Int = 1 << 20) throws(BatchError) -> [UInt8] {
    let opened = path.withCString { pointer in
      retrying { Int(clinux_openat(AT_FDCWD, pointer, O_RDONLY | O_CLOEXEC | O_NOCTTY, 0)) }
    }
    guard opened >= 0 else { throw .syscall("open", errno: Int32(-opened), path: path) }
    let file = Descriptor(owning: Int32(opened))
    var content: [UInt8] = []
    while true {
      let count = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16_384) { buffer in
        let count = retrying { Glibc.read(file.raw, buffer.baseAddress, buffer.count) }
        if count > 0 { content += buffer[..<count] }
        return count
      }
      guard count >= 0 else { throw .syscall("read", errno: Int32(-count), path: path) }
      if count == 0 { return content }
      guard content.count <= limit else {
        throw BatchError(.malformed, "larger than \(limit) bytes", path: path)
      }
    }
  }
}
