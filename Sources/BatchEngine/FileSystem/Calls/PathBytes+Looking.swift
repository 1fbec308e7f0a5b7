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

  /// The UUID of the file system of a regular file or folder, in hexadecimal; nil if it cannot be asked. Links are followed.
  ///
  /// Only file systems are asked whose ``fileSystemID()`` also depends on something else: that of XFS on the number of the
  /// device, that of Btrfs on the subvolume.
  package func fileSystemUUID() -> String? {
    guard let kind = try? status(followingLinks: true).kind, kind == .directory || kind == .regular,
      let file = try? LinuxCalls().openFile(self, followingLast: true)
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16)
    return clinux_file_system_uuid(file.raw, &bytes) == 1
      ? bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() : nil
  }
}
