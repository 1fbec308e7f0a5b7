import CLinux
import Glibc

extension DirectoryOpener {
  /// Opens a folder below an open one, which no symbolic link on the way can lead out of.
  ///
  /// One `openat2(2)` where the kernel has it; otherwise name by name with `O_NOFOLLOW`. A mount point on the way is
  /// passed.
  ///
  /// - Parameters:
  ///   - names: the path from there, `.` and `..` not among its names; empty for the folder itself.
  ///   - base: stays open.
  ///   - isSearched: whether names are looked up in it only; that needs no permission to list it.
  /// - Throws: the error of the call: `ELOOP` or `ENOTDIR` where a link or a file is on the way.
  package func open(
    _ names: ArraySlice<UInt8>, below base: Int32, isSearched: Bool = false
  ) throws(BatchError) -> Descriptor {
    let flags = O_DIRECTORY | O_NOFOLLOW | (isSearched ? clinux_o_path : O_RDONLY | O_NONBLOCK)
    let slash = UInt8(ascii: "/")
    var rest = names
    while rest.last == slash { rest = rest.dropLast() }
    var current = base
    defer { if current != base { _ = Glibc.close(current) } }
    repeat {
      var piece = rest
      if rest.count >= Int(PATH_MAX) {
        guard let end = rest.prefix(Int(PATH_MAX)).lastIndex(of: slash) else {
          throw .syscall("open the folder", errno: ENAMETOOLONG)
        }
        piece = rest[..<end]
      }
      let next = try step(piece.isEmpty ? "." : PathBytes(piece), below: current, flags)
      if current != base { _ = Glibc.close(current) }
      current = next
      rest = rest[piece.endIndex...].drop { $0 == slash }
    } while !rest.isEmpty
    defer { current = base }
    return Descriptor(owning: current)
  }

  private func step(_ path: PathBytes, below base: Int32, _ flags: Int32) throws(BatchError) -> Int32 {
    let opened = path.withCString { calls.openBeneath($0, at: base, flags: flags) }
    if opened >= 0 { return opened }
    // EPERM: a filter of system calls that does not know this one.
    guard [ENOSYS, EPERM, EAGAIN].contains(-opened) else { throw .syscall("open the folder", errno: -opened) }
    var current = base
    defer { if current != base { _ = Glibc.close(current) } }
    for name in path.bytes.split(separator: UInt8(ascii: "/")) {
      let next = PathBytes(name).withCString { calls.open($0, at: current, flags: flags) }
      guard next >= 0 else { throw .syscall("open the folder", errno: -next) }
      if current != base { _ = Glibc.close(current) }
      current = next
    }
    defer { current = base }
    return current
  }
}
