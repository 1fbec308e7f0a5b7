import CLinux
import Glibc

/// The steps by which outputs get their names, so that a test can put faults in their place.
protocol CommitCalls: Sendable {
  /// Brings all that was written to the file system of an output to the disk.
  func syncFileSystem(of file: AtomicFile) throws(BatchError)
  func publish(_ file: AtomicFile) throws(BatchError)
  /// Brings the names in a folder to the disk.
  func syncFolder(_ folder: PathBytes) throws(BatchError)
  /// Removes a source that is still the file that was read; one that is gone is no error.
  func remove(_ source: FileRecord) throws(BatchError)
}

/// The steps as this kernel takes them.
struct LinuxCommitCalls: CommitCalls {
  func syncFileSystem(of file: AtomicFile) throws(BatchError) { try file.syncFileSystem() }

  func publish(_ file: AtomicFile) throws(BatchError) { try file.publish() }

  func syncFolder(_ folder: PathBytes) throws(BatchError) {
    let number = folder.withCString { path in
      retrying { Int(clinux_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
    guard number >= 0 else { throw .syscall("sync the folder", errno: Int32(-number), path: folder) }
    let descriptor = Descriptor(owning: Int32(number))
    let result = retrying { Int(fsync(descriptor.raw)) }
    // EINVAL: the file system has nothing to sync here.
    guard result < 0, result != -Int(EINVAL) else { return }
    throw BatchError.syscall("sync the folder", errno: Int32(-result), path: folder).recoded(.unwritable)
  }

  func remove(_ source: FileRecord) throws(BatchError) {
    let path = source.path
    var raw = stat()
    let result = path.withCString { fstatat(AT_FDCWD, $0, &raw, AT_SYMLINK_NOFOLLOW) }
    guard result == 0 else {
      if errno == ENOENT { return }
      throw .syscall("remove the source", errno: errno, path: path)
    }
    guard FileStatus(raw).kind != .symbolicLink || !source.followsLinks else {
      throw BatchError(
        .invalid, "is a symbolic link: what it leads to was read, and both stay beside the output", path: path
      )
    }
    guard FileStatus(raw).hasSameContent(as: source.status) else {
      throw BatchError(.changed, "changed since it was read, and stays beside its output", path: path)
    }
    guard path.withCString({ unlink($0) }) == 0 else {
      throw .syscall("remove the source", errno: errno, path: path)
    }
  }
}
