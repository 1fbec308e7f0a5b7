import CLinux
import Glibc
import Synchronization

/// The folder that an archive is unpacked into; everything is opened below its descriptor and through no
/// symbolic link, so that nothing lands elsewhere, whoever changes the tree meanwhile.
final class ExtractionFolder: Sendable {
  private static let folderFlags = clinux_o_path | O_DIRECTORY | O_NOFOLLOW
  private static let madeMode: mode_t = 0o700

  let path: PathBytes
  private let root: Descriptor
  /// Folders that were made here, and that no member has described yet.
  private let made = Mutex<Set<PathBytes>>([])
  private let hasOneCall = Atomic<Bool>(true)

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
    if let found = try openInOneCall(folder, Self.folderFlags) { return Descriptor(owning: found) }
    return Descriptor(owning: try openInSteps(folder, Self.folderFlags, creating: creating))
  }

  /// Opens a folder below for its metadata.
  func openForMetadata(_ folder: [UInt8]) throws(BatchError) -> Descriptor {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK
    if let found = try openInOneCall(folder[...], flags) { return Descriptor(owning: found) }
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

  /// Makes a folder, and those above it.
  ///
  /// - Returns: whether it was made in this run and is now described for the first time.
  func makeFolder(_ member: MemberPath) throws(BatchError) -> Bool {
    guard !member.bytes.isEmpty else { return false }
    _ = try open(member.bytes[...], creating: true)
    return made.withLock { $0.remove(PathBytes(member.bytes)) != nil }
  }

  /// The folders that no member described.
  var undescribed: [PathBytes] { made.withLock { Array($0) } }

  /// Brings all of the file system to the disk.
  func sync() throws(BatchError) {
    guard clinux_syncfs(root.raw) == 0 else {
      throw BatchError.syscall("sync", errno: errno, path: path).recoded(.unwritable)
    }
  }

  // MARK: Steps

  /// - Returns: nil when it is missing, or when the kernel cannot do it in one call.
  private func openInOneCall(_ folder: ArraySlice<UInt8>, _ flags: Int32) throws(BatchError) -> Int32? {
    guard hasOneCall.load(ordering: .relaxed), folder.count < Int(PATH_MAX) else { return nil }
    let result = PathBytes(folder).withCString { pointer in
      retrying { Int(clinux_open_beneath(root.raw, pointer, flags)) }
    }
    if result == -Int(ENOENT) || result == -Int(EAGAIN) { return nil }
    if result == -Int(ENOSYS) || result == -Int(EPERM) {
      hasOneCall.store(false, ordering: .relaxed)
      return nil
    }
    return try check(Int32(truncatingIfNeeded: result), folder)
  }

  private func openInSteps(
    _ folder: ArraySlice<UInt8>, _ flags: Int32, creating: Bool
  ) throws(BatchError) -> Int32 {
    var current = root.raw
    var end = folder.startIndex
    defer { if current != root.raw { _ = Glibc.close(current) } }
    while end < folder.endIndex {
      let start = end == folder.startIndex ? end : end + 1
      end = folder[start...].firstIndex(of: UInt8(ascii: "/")) ?? folder.endIndex
      let name = PathBytes(folder[start..<end])
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
