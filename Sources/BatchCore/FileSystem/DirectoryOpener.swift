import CLinux
import Glibc

/// Opens folders, also those whose path is longer than the kernel takes in one call.
struct DirectoryOpener: Sendable {
  /// PATH_MAX counts the NUL: one byte less is the longest path of one call.
  private static let longestPath = Int(PATH_MAX) - 1

  let calls: any FileSystemCalls

  /// Opens the folder at a path.
  ///
  /// - Parameter followingLast: whether the last name may be a symbolic link.
  /// - Throws: the error of `openat(2)`.
  func open(_ path: PathBytes, followingLast: Bool) throws(BatchError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK
    var rest = path.bytes[...]
    var base = AT_FDCWD
    defer { if base != AT_FDCWD { _ = Glibc.close(base) } }
    while rest.count > Self.longestPath {
      // Cut at the last slash that fits; a single name never exceeds NAME_MAX.
      let window = rest.prefix(Self.longestPath)
      guard let slash = window.lastIndex(of: UInt8(ascii: "/")), slash > rest.startIndex else {
        throw .syscall("open the folder", errno: ENAMETOOLONG)
      }
      try step(to: PathBytes(rest[..<slash]), from: &base, flags: clinux_o_path | O_DIRECTORY)
      rest = rest[slash...].drop { $0 == UInt8(ascii: "/") }
    }
    let last = rest.isEmpty ? PathBytes(".") : PathBytes(rest)
    try step(to: last, from: &base, flags: followingLast ? flags : flags | O_NOFOLLOW)
    defer { base = AT_FDCWD }
    return Descriptor(owning: base)
  }

  /// Reads the status behind a path, links followed, also where one call does not take the path.
  ///
  /// - Returns: 0, or the negative error number.
  func status(of path: PathBytes, into status: inout stat) -> Int32 {
    let result = path.withCString { calls.status(of: $0, at: AT_FDCWD, followingLinks: true, into: &status) }
    guard result == -ENAMETOOLONG, path.bytes.count > Self.longestPath else { return result }
    do throws(BatchError) {
      let folder = try open(path.parent, followingLast: true)
      let directory = folder.raw
      return PathBytes(path.lastComponent).withCString {
        calls.status(of: $0, at: directory, followingLinks: true, into: &status)
      }
    } catch {
      return -error.errno
    }
  }

  /// Opens a folder name by name below an operand, refusing every symbolic link on the way.
  ///
  /// Used when what was opened by path is not the inode that was listed: then a name in between may
  /// have been swapped for a link.
  func openBelowOperand(_ directory: DirectoryPath) throws(BatchError) -> Descriptor {
    let operand = PathBytes(directory.prefix.bytes[..<directory.operandLength])
    var base = try open(operand.isEmpty ? PathBytes(".") : operand, followingLast: true).release()
    defer { if base != AT_FDCWD { _ = Glibc.close(base) } }
    for name in directory.relativePrefix.split(separator: UInt8(ascii: "/")) {
      try step(to: PathBytes(name), from: &base, flags: O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOFOLLOW)
    }
    defer { base = AT_FDCWD }
    return Descriptor(owning: base)
  }

  /// Opens the next folder and closes the one it was reached from.
  private func step(to path: PathBytes, from base: inout Int32, flags: Int32) throws(BatchError) {
    let next = try call(path, at: base, flags: flags)
    if base != AT_FDCWD { _ = Glibc.close(base) }
    base = next
  }

  private func call(_ path: PathBytes, at directory: Int32, flags: Int32) throws(BatchError) -> Int32 {
    let result = path.withCString { calls.open($0, at: directory, flags: flags) }
    guard result >= 0 else { throw .syscall("open the folder", errno: -result) }
    return result
  }
}
