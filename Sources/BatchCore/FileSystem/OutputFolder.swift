import CLinux
import Glibc
import Synchronization

/// A folder that is open for the files that are written to it; it closes when the last of them is done with.
final class OutputFolder: Sendable {
  private struct NewFiles {
    var areUnnamed = true
    /// What a new file got that was asked for with these permissions.
    var given: (permissions: UInt32, status: FileStatus)?
  }

  let path: PathBytes
  /// Whether this run made it, so that no earlier one has left anything there.
  let isNew: Bool
  private let descriptor: Descriptor
  private let newFiles = Mutex(NewFiles())

  var raw: Int32 { descriptor.raw }

  /// Opens the folder of an output; links on the way are followed.
  ///
  /// - Throws: `unwritable`, or `exhausted`, with the path of the output.
  init(of target: PathBytes, isNew: Bool = false) throws(BatchError) {
    path = target.parent
    self.isNew = isNew
    let opened = path.withCString { path in
      retrying { Int(clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
    guard opened >= 0 else {
      throw AtomicFileOutput.failure("open the folder of the output", -opened, target)
    }
    descriptor = Descriptor(owning: Int32(opened))
  }

  /// Whether an output goes to this folder.
  func holds(_ target: PathBytes) -> Bool { target.parent == path }

  /// Makes a file that has no name yet.
  ///
  /// Its owner and mode, which the folder, its lists and the umask make, are looked at once for all files that are
  /// asked for with the same permissions.
  ///
  /// - Returns: nil where the file system makes none, or a negative error number in place of a descriptor.
  func makeUnnamed(permissions: UInt32) -> (file: Int, status: FileStatus?)? {
    let known = newFiles.withLock { $0 }
    guard known.areUnnamed else { return nil }
    let file = UnnamedFile.make(in: raw, permissions: permissions)
    if UnnamedFile.isUnknown(file) {
      newFiles.withLock { $0.areUnnamed = false }
      return nil
    }
    if let given = known.given, given.permissions == permissions { return (file, given.status) }
    var raw = stat()
    guard file >= 0, fstat(Int32(file), &raw) == 0 else { return (file, nil) }
    let status = FileStatus(raw)
    newFiles.withLock { $0.given = (permissions, status) }
    return (file, status)
  }
}
