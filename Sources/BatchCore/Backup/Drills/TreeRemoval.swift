import BatchEngine
import CLinux
import Glibc

/// Removes a folder with all that is in it, at any depth, with four descriptors and without recursion.
///
/// The folders within a folder are moved up to the top before it is removed, so that none is reached through another one.
/// No link is followed.
enum TreeRemoval {
  /// - Parameter folder: an open folder that the name is in.
  /// - Returns: nil when all is gone, else the number of the first error.
  @discardableResult
  static func remove(_ name: PathBytes, in folder: Int32) -> Int32? {
    guard let top = open(name, in: folder) else { return errno == ENOENT ? nil : errno }
    var moved = Moves()
    var failed: Int32?
    // What was moved up meanwhile is for the next pass. Without any progress all that is left stays.
    var isAtWork = true
    while isAtWork {
      isAtWork = false
      failed = nil
      let error = forEachEntry(of: top.raw) { entry in
        if unlink(entry, in: top.raw) == nil {
          isAtWork = true
          return
        }
        if let inner = open(entry, in: top.raw) {
          let error = forEachEntry(of: inner.raw) { entry in
            let error = unlink(entry, in: inner.raw)
            if error == nil || moved.move(entry, from: inner.raw, to: top.raw) {
              isAtWork = true
            } else {
              failed = failed ?? error
            }
          }
          failed = failed ?? error
        }
        let error = unlink(entry, in: top.raw)
        if error == nil { isAtWork = true }
        failed = failed ?? error
      }
      failed = failed ?? error
    }
    _ = consume top
    guard let last = unlink(name, in: folder) else { return nil }
    return failed ?? last
  }

  /// Removes a file or an empty folder.
  ///
  /// - Returns: nil when it is gone, else the error number.
  private static func unlink(_ name: PathBytes, in folder: Int32) -> Int32? {
    let failed = name.withCString { unlinkat(folder, $0, 0) == 0 ? 0 : errno }
    if failed == 0 || failed == ENOENT { return nil }
    let second = name.withCString { unlinkat(folder, $0, AT_REMOVEDIR) == 0 ? 0 : errno }
    if second == 0 || second == ENOENT { return nil }
    return second == ENOTDIR ? failed : second
  }

  /// Opens a folder so that it can be emptied; nil with the error number in `errno`.
  private static func open(_ name: PathBytes, in folder: Int32) -> Descriptor? {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    func opened() -> Int {
      name.withCString { path in retrying { Int(clinux_openat(folder, path, flags, 0)) } }
    }
    var raw = opened()
    if raw == -Int(EACCES), isFolder(name, in: folder),
      name.withCString({ fchmodat(folder, $0, 0o700, 0) }) == 0
    {
      raw = opened()
    }
    guard raw >= 0 else {
      errno = Int32(truncatingIfNeeded: -raw)
      return nil
    }
    let descriptor = Descriptor(owning: Int32(truncatingIfNeeded: raw))
    _ = fchmod(descriptor.raw, 0o700)
    return descriptor
  }

  private static func isFolder(_ name: PathBytes, in folder: Int32) -> Bool {
    var raw = stat()
    return name.withCString { fstatat(folder, $0, &raw, AT_SYMLINK_NOFOLLOW) } == 0
      && FileStatus(raw).kind == .directory
  }

  /// - Returns: nil when all entries were passed on, else the error number.
  private static func forEachEntry(of folder: Int32, _ body: (PathBytes) -> Void) -> Int32? {
    // A descriptor of its own begins at the first entry.
    let own = clinux_openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)
    guard own >= 0 else { return -own }
    guard let stream = fdopendir(own) else {
      let failed = errno
      close(own)
      return failed
    }
    defer { closedir(stream) }
    errno = 0
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        let start = UnsafeRawPointer(pointer)
        return PathBytes(
          UnsafeRawBufferPointer(start: start, count: strlen(start.assumingMemoryBound(to: CChar.self))))
      }
      if !name.bytes[...].isDots { body(name) }
      errno = 0
    }
    return errno == 0 ? nil : errno
  }

  /// Names of folders that were moved up.
  private struct Moves {
    private var count = 0

    /// - Returns: whether it is a folder that was moved.
    mutating func move(_ name: PathBytes, from folder: Int32, to top: Int32) -> Bool {
      guard isFolder(name, in: folder) else { return false }
      while true {
        let new = PathBytes(".moved-\(count)")
        count += 1
        let failed = name.withCString { old in
          new.withCString { renameat(folder, old, top, $0) == 0 ? 0 : errno }
        }
        if failed == 0 { return true }
        // A folder that is moved must be writable, since its `..` changes.
        if failed == EACCES, name.withCString({ fchmodat(folder, $0, 0o700, 0) }) == 0,
          name.withCString({ old in new.withCString { renameat(folder, old, top, $0) } }) == 0
        {
          return true
        }
        // Something that was restored has the name.
        guard [ENOTEMPTY, EEXIST, ENOTDIR].contains(failed) else { return false }
      }
    }
  }
}
