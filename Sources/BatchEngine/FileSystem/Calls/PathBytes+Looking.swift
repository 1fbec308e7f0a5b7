import CLinux
import Glibc

/// Examines the file at a path. For paths that the user or the system named; files that a walk found are examined relative to their folder.
extension PathBytes {
  /// - Parameter followingLinks: whether a link is followed if it is the last name.
  package func status(followingLinks: Bool = false) throws(BatchError) -> FileStatus {
    try LinuxCalls().status(of: self, followingLinks: followingLinks)
  }

  /// The path from the root, without links and dots.
  ///
  /// - Throws: the error of `realpath(3)`.
  package func resolved() throws(BatchError) -> PathBytes {
    guard let real = withCString({ realpath($0, nil) }) else {
      throw .syscall("look at", errno: errno, path: self)
    }
    defer { free(real) }
    return PathBytes(UnsafeRawBufferPointer(start: real, count: strlen(real)))
  }

  /// The id of the path's file system (`statfs(2)`); 0 if it has none.
  package func fileSystemID() throws(BatchError) -> UInt64 {
    var identity: UInt64 = 0
    let failed = withCString { clinux_file_system_id($0, &identity) }
    guard failed == 0 else { throw .syscall("look at the file system of", errno: failed, path: self) }
    return identity
  }
}
