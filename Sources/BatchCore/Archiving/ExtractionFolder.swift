import CLinux
import Glibc
import Synchronization

/// The folder that an archive is unpacked into; everything is opened below its descriptor and through no
/// symbolic link, so that nothing lands elsewhere, whoever changes the tree meanwhile.
final class ExtractionFolder: Sendable {
  private static let folderFlags = clinux_o_path | O_DIRECTORY | O_NOFOLLOW
  private static let madeMode: mode_t = 0o700
  private static let slash = UInt8(ascii: "/")

  let path: PathBytes
  private let root: Descriptor
  /// Folders that were made here; complete when all lanes have come to their end, and not before.
  private let made = Mutex<Set<PathBytes>>([])
  private let hasOneCall = Atomic<Bool>(true)
  /// Hashes of the paths of folders that were cleared.
  private let cleared = Mutex<Set<Int>>([])

  /// - Throws: the error of opening it.
  init(_ path: PathBytes) throws(BatchError) {
    self.path = path
    let opened = path.withCString { pointer in
      retrying { Int(clinux_openat(AT_FDCWD, pointer, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0)) }
    }
    guard opened >= 0 else { throw .syscall("open the folder", errno: Int32(-opened), path: path) }
    root = Descriptor(owning: Int32(opened))
  }

  /// Opens a folder below, for calls that name what is in it.
  ///
  /// - Parameter creating: makes what is missing of it.
  /// - Throws: `invalid` where a link or a file is in the way.
  func open(_ folder: ArraySlice<UInt8>, creating: Bool) throws(BatchError) -> Descriptor {
    if folder.isEmpty { return Descriptor(owning: try check(step(root.raw, ".", Self.folderFlags), folder)) }
    if let found = try openInHops(folder, Self.folderFlags) { return Descriptor(owning: found) }
    // Mostly only the last name is missing.
    if creating, let slash = folder.lastIndex(of: Self.slash),
      let parent = try openInHops(folder[..<slash], Self.folderFlags)
    {
      return Descriptor(
        owning: try openInSteps(folder, Self.folderFlags, creating: true, from: parent, at: slash + 1))
    }
    return Descriptor(owning: try openInSteps(folder, Self.folderFlags, creating: creating))
  }

  /// Opens a folder below for its metadata.
  func openForMetadata(_ folder: [UInt8]) throws(BatchError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK
    if let found = try openInHops(folder[...], flags) { return Descriptor(owning: found) }
    return Descriptor(owning: try openInSteps(folder[...], flags, creating: false))
  }

  /// Whether a path below is a folder, and reached through folders alone.
  func isFolder(_ folder: ArraySlice<UInt8>) -> Bool {
    do throws(BatchError) {
      _ = try open(folder, creating: false)
      return true
    } catch {
      return false
    }
  }

  /// The folders that were made in this run; to be asked when no lane makes any more.
  var madeFolders: Set<PathBytes> { made.withLock { $0 } }

  /// Removes what dead runs left in a folder, once in a run.
  func clear(_ folder: Int32, _ path: ArraySlice<UInt8>) {
    guard cleared.withLock({ $0.insert(path.hashValue).inserted }) else { return }
    StaleTemporaries.remove(in: folder, path: PathBytes(path))
  }

  /// Brings all of the file system to the disk.
  func sync() throws(BatchError) {
    let result = retrying { Int(clinux_syncfs(root.raw)) }
    guard result == 0 else {
      throw BatchError.syscall("sync", errno: Int32(truncatingIfNeeded: -result), path: path)
        .recoded(.unwritable)
    }
  }

  // MARK: Steps

  /// Opens as much of a path in one call as a call takes.
  ///
  /// - Returns: nil when it is missing, or when the kernel has no such call.
  private func openInHops(_ folder: ArraySlice<UInt8>, _ flags: Int32) throws(BatchError) -> Int32? {
    var current = root.raw
    var start = folder.startIndex
    defer { if current != root.raw { _ = Glibc.close(current) } }
    while hasOneCall.load(ordering: .relaxed) {
      var end = folder.endIndex
      if end - start >= Int(PATH_MAX) {
        guard let slash = folder[start..<(start + Int(PATH_MAX))].lastIndex(of: Self.slash) else {
          return nil
        }
        end = slash
      }
      let hopFlags = end == folder.endIndex ? flags : Self.folderFlags
      let result = PathBytes(folder[start..<end]).withCString { pointer in
        retrying { Int(clinux_open_beneath(current, pointer, hopFlags)) }
      }
      if result == -Int(ENOENT) || result == -Int(EAGAIN) { return nil }
      if result == -Int(ENOSYS) || result == -Int(EPERM) {
        hasOneCall.store(false, ordering: .relaxed)
        return nil
      }
      let opened = try check(Int32(truncatingIfNeeded: result), folder[..<end])
      if end == folder.endIndex { return opened }
      if current != root.raw { _ = Glibc.close(current) }
      current = opened
      start = end + 1
    }
    return nil
  }

  /// Opens a path name by name.
  ///
  /// - Parameters:
  ///   - base: the folder that holds what begins at `start`, which is closed here; nil for the root.
  private func openInSteps(
    _ folder: ArraySlice<UInt8>, _ flags: Int32, creating: Bool, from base: Int32? = nil, at start: Int = 0
  ) throws(BatchError) -> Int32 {
    var current = base ?? root.raw
    var begin = base == nil ? folder.startIndex : start
    var end = begin
    defer { if current != root.raw { _ = Glibc.close(current) } }
    while end < folder.endIndex {
      end = folder[begin...].firstIndex(of: Self.slash) ?? folder.endIndex
      let name = PathBytes(folder[begin..<end])
      begin = end + 1
      let stepFlags = end == folder.endIndex ? flags : Self.folderFlags
      var next = step(current, name, stepFlags)
      if next == -ENOENT, creating {
        let failed = name.withCString { mkdirat(current, $0, Self.madeMode) == 0 ? 0 : errno }
        guard failed == 0 || failed == EEXIST else {
          throw BatchError.syscall("make the folder", errno: failed, path: PathBytes(folder[..<end]))
            .recoded(.unwritable)
        }
        if failed == 0 { made.withLock { _ = $0.insert(PathBytes(folder[..<end])) } }
        next = step(current, name, stepFlags)
      }
      let opened = try check(next, folder[..<end])
      if current != root.raw { _ = Glibc.close(current) }
      current = opened
    }
    defer { current = root.raw }
    return current
  }

  private func step(_ directory: Int32, _ name: PathBytes, _ flags: Int32) -> Int32 {
    name.withCString { pointer in
      Int32(truncatingIfNeeded: retrying { Int(clinux_openat(directory, pointer, flags | O_CLOEXEC, 0)) })
    }
  }

  private func check(_ result: Int32, _ folder: ArraySlice<UInt8>) throws(BatchError) -> Int32 {
    guard result < 0 else { return result }
    let path = PathBytes(folder)
    switch -result {
    case ELOOP, ENOTDIR, EXDEV:
      throw BatchError(.invalid, "refused: on the way to it is a link or a file, and no folder", path: path)
    default: throw BatchError.syscall("open the folder", errno: -result, path: path).recoded(.unwritable)
    }
  }
}
