import CLinux
import Glibc

/// Files of the kernel, in `/proc` and `/sys`, where no user can put a pipe or a link. They are read as a whole.
package enum KernelFile {
  /// Reads to the end, whatever size the file claims.
  ///
  /// - Parameter limit: the most bytes the file may have.
  /// - Throws: the error of `openat(2)` or `read(2)`, `.malformed` for a file above the limit.
  package static func read(_ path: PathBytes, limit: Int = 1 << 20) throws(BatchError) -> [UInt8] {
    try SmallFile.content(of: SmallFile.open(path, flags: 0), path, limit)
  }

  /// The words between blanks and ends of lines; nil when the file cannot be read.
  static func words(of path: PathBytes) -> [ArraySlice<UInt8>]? {
    guard let content = try? read(path) else { return nil }
    return content.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }
  }

  /// The first word as a number; nil for another word, such as `max` and `-1`, which mean no limit.
  static func number(in path: PathBytes) -> UInt64? {
    words(of: path)?.first.flatMap { UInt64(decimalIn: $0) }
  }
}

/// Small files of users, which are read as a whole.
package enum SmallFile {
  /// Reads a file that the user named for this run. Links are followed, and a pipe is read until it is closed.
  ///
  /// - Parameter limit: the most bytes the file may have.
  /// - Throws: the error of `openat(2)` or `read(2)`, `.malformed` for a file above the limit.
  package static func readNamed(_ path: PathBytes, limit: Int) throws(BatchError) -> [UInt8] {
    try content(of: open(path, flags: 0), path, limit)
  }

  /// Reads a regular file; refuses a link or a pipe.
  ///
  /// - Parameters:
  ///   - limit: the most bytes the file may have.
  ///   - check: throws for a file that must not be read.
  /// - Throws: the error of a system call, `.malformed` for anything but a regular file, and for one above the limit.
  package static func readRegular(
    _ path: PathBytes, limit: Int = 1 << 20, check: (stat) throws(BatchError) -> Void = { _ in }
  ) throws(BatchError) -> [UInt8] {
    let file = try open(path, flags: O_NOFOLLOW | O_NONBLOCK)
    var raw = stat()
    guard fstat(file.raw, &raw) == 0 else { throw .syscall("read the status", errno: errno, path: path) }
    guard raw.st_mode & S_IFMT == S_IFREG else {
      throw BatchError(.malformed, "is not a regular file", path: path)
    }
    try check(raw)
    return try content(of: file, path, limit)
  }

  /// The first bytes of a file.
  ///
  /// - Parameter isRegular: whether a link, a pipe or a device is refused.
  package static func start(
    of path: PathBytes, count: Int, isRegular: Bool = false
  ) throws(BatchError) -> [UInt8] {
    let file = try open(path, flags: isRegular ? O_NONBLOCK | O_NOFOLLOW : O_NONBLOCK)
    let raw = file.raw
    var status = stat()
    if isRegular, fstat(raw, &status) != 0 || status.st_mode & S_IFMT != S_IFREG {
      throw BatchError(.malformed, "is not a regular file", path: path)
    }
    var failed: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { room, filled in
      let count = retrying { pread(raw, room.baseAddress, count, 0) }
      if count < 0 { failed = Int32(-count) }
      filled = max(0, count)
    }
    guard failed == 0 else { throw .syscall("read", errno: failed, path: path) }
    return bytes
  }

  fileprivate static func open(_ path: PathBytes, flags: Int32) throws(BatchError) -> Descriptor {
    let opened = path.withCString { pointer in
      retrying { Int(clinux_openat(AT_FDCWD, pointer, O_RDONLY | O_CLOEXEC | O_NOCTTY | flags, 0)) }
    }
    guard opened >= 0 else { throw .syscall("open", errno: Int32(-opened), path: path) }
    return Descriptor(owning: Int32(opened))
  }

  fileprivate static func content(
    of file: borrowing Descriptor, _ path: PathBytes, _ limit: Int
  ) throws(BatchError) -> [UInt8] {
    let raw = file.raw
    var content: [UInt8] = []
    while true {
      let count = withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16_384) { buffer in
        let count = retrying { Glibc.read(raw, buffer.baseAddress, buffer.count) }
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
