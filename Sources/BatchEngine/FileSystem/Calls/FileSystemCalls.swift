import CLinux
import Glibc

/// The system calls that read trees, so that a test can inject faults.
///
/// Every call returns what the kernel returns, or the negative error number; none is interrupted by
/// a signal (`EINTR` is retried here and nowhere else).
package protocol FileSystemCalls: Sendable {
  func open(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32
  /// Opens a path below a folder without following a symbolic link (`openat2(2)`); `-ENOSYS` if the call does not exist.
  func openBeneath(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32
  func status(of descriptor: Int32, into status: inout stat) -> Int32
  func status(
    of path: UnsafePointer<CChar>, at directory: Int32, followingLinks: Bool, into status: inout stat
  ) -> Int32
  func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int
  func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: off_t) -> Int
  func readEntries(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int
  /// The magic number of the file system of an open file (`fstatfs(2)`); nil if unknown.
  func fileSystemType(of descriptor: Int32) -> Int?
  /// Takes a read lease on a file that is open for reading, and gives it back (`F_SETLEASE` of `fcntl(2)`).
  ///
  /// Zero when the kernel granted the lease, which it does only if no writable descriptor or shared mapping exists.
  func tryReadLease(on descriptor: Int32) -> Int32
  /// Writes the content of an open file to its device (`fdatasync(2)`).
  func syncContent(of descriptor: Int32) -> Int32
  /// Writes all cached data of the file system of an open file to its device (`syncfs(2)`).
  func syncFileSystem(of descriptor: Int32) -> Int32
  /// Runs a call that changes files.
  ///
  /// - Parameter call: performs the change, and returns 0 or more, or the negative error number.
  /// - Returns: what `call` returns.
  func change(_ change: FileChange, _ place: FileChangePlace, _ call: () -> Int) -> Int
  /// The most bytes that one call copies inside the kernel.
  var largestCopy: UInt64 { get }
  /// Called after a call copied bytes inside the kernel.
  func didCopy(_ count: Int)
}

extension FileSystemCalls {
  package var largestCopy: UInt64 { 1 << 30 }

  package func didCopy(_ count: Int) {}

  package func openBeneath(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
    Int32(truncatingIfNeeded: noted { retrying { Int(clinux_open_beneath(directory, path, flags)) } })
  }

  package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: off_t) -> Int
  {
    noted { retrying { pread(descriptor, buffer.baseAddress, buffer.count, offset) } }
  }

  package func fileSystemType(of descriptor: Int32) -> Int? {
    let type = clinux_file_system_type(descriptor)
    return type < 0 ? nil : type
  }

  package func tryReadLease(on descriptor: Int32) -> Int32 { -clinux_try_read_lease(descriptor) }

  package func syncContent(of descriptor: Int32) -> Int32 {
    Int32(truncatingIfNeeded: noted { retrying { Int(fdatasync(descriptor)) } })
  }

  package func syncFileSystem(of descriptor: Int32) -> Int32 {
    Int32(
      truncatingIfNeeded: change(.syncFileSystem, .descriptor(descriptor)) {
        retrying { Int(clinux_syncfs(descriptor)) }
      })
  }
}

package struct LinuxCalls: FileSystemCalls {
  package init() {}

  package func open(_ path: UnsafePointer<CChar>, at directory: Int32, flags: Int32) -> Int32 {
    Int32(
      truncatingIfNeeded: noted { retrying { Int(clinux_openat(directory, path, flags | O_CLOEXEC, 0)) } })
  }

  package func status(of descriptor: Int32, into status: inout stat) -> Int32 {
    fstat(descriptor, &status) == 0 ? 0 : -errno
  }

  package func status(
    of path: UnsafePointer<CChar>, at directory: Int32, followingLinks: Bool, into status: inout stat
  ) -> Int32 {
    noted { fstatat(directory, path, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 ? 0 : -errno }
  }

  package func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    noted { retrying { Glibc.read(descriptor, buffer.baseAddress, buffer.count) } }
  }

  package func readEntries(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    noted { retrying { clinux_getdents64(descriptor, buffer.baseAddress, buffer.count) } }
  }
}

/// Makes a call that may wait for a device, and records meanwhile that its thread waits.
@inline(__always)
package func noted<Result>(_ call: () -> Result) -> Result {
  clinux_enter_call()
  defer { clinux_leave_call() }
  return call()
}

/// Repeats a system call that a signal interrupted; failures come back as the negative error number.
@inline(__always)
package func retrying(_ call: () -> Int) -> Int {
  while true {
    let result = call()
    if result >= 0 { return result }
    let number = errno
    if number != EINTR { return -Int(number) }
  }
}

extension FileSystemCalls {
  package func status(of descriptor: borrowing Descriptor) throws(BatchError) -> FileStatus {
    try status(of: descriptor.raw)
  }

  package func status(of descriptor: Int32) throws(BatchError) -> FileStatus {
    var raw = stat()
    let result = status(of: descriptor, into: &raw)
    guard result == 0 else { throw .syscall("read the status", errno: -result) }
    return FileStatus(raw)
  }

  /// - Parameter folder: as in ``openFile(_:in:followingLast:)``.
  /// - Throws: the error of the call, with the path.
  package func status(
    of path: PathBytes, in folder: Int32? = nil, followingLinks: Bool = false
  ) throws(BatchError) -> FileStatus {
    var raw = stat()
    let result = path.withCString {
      status(of: $0, at: folder ?? AT_FDCWD, followingLinks: followingLinks, into: &raw)
    }
    guard result == 0 else { throw .syscall("look at", errno: -result, path: path) }
    return FileStatus(raw)
  }

  /// Fills a buffer with the bytes of a file from an offset on; fewer only at its end.
  ///
  /// - Parameter path: the path of the file for messages.
  package func fill(
    _ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: UInt64, path: PathBytes? = nil
  ) throws(BatchError) -> Int {
    var filled = 0
    while filled < buffer.count {
      let (position, isFar) = offset.addingReportingOverflow(UInt64(filled))
      guard !isFar, let place = Int(exactly: position) else { return filled }
      let count = read(file, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]), at: place)
      guard count >= 0 else { throw .syscall("read", errno: Int32(truncatingIfNeeded: -count), path: path) }
      if count == 0 { return filled }
      filled += count
    }
    return filled
  }

  /// Opens a file to read it. A FIFO without a writer is opened too.
  ///
  /// - Parameter folder: the descriptor of the folder in which the path begins; nil for the working folder.
  /// - Throws: the error of the call, with the path.
  package func openFile(
    _ path: PathBytes, in folder: Int32? = nil, followingLast: Bool
  ) throws(BatchError) -> Descriptor {
    let flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | (followingLast ? 0 : O_NOFOLLOW)
    let opened = path.withCString { open($0, at: folder ?? AT_FDCWD, flags: flags) }
    guard opened >= 0 else { throw .syscall("open", errno: -opened, path: path) }
    return Descriptor(owning: opened)
  }
}
