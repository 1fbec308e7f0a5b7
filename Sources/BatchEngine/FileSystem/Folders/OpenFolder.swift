import CLinux
import Glibc
import Synchronization

/// A folder that is open for what is looked at, written and removed in it, by the calls of the run. It closes when the last
/// user releases it.
package final class OpenFolder: Sendable {
  /// Whether files that are made in a folder get an access control list from it.
  package enum ListsOfNewFiles: Sendable {
    /// The folder has none now. That may change at any time.
    case none
    case inherited
    /// The file system has no such lists.
    case unsupported
  }

  /// What is known of the files that are made in the folder.
  private struct NewFileTraits {
    var areUnnamed = true
    /// Owner and mode of a new file that was requested with these permissions.
    var given: (permissions: UInt32, status: FileStatus)?
    var lists: ListsOfNewFiles?
  }

  /// For messages.
  package let path: PathBytes
  /// As it was when the folder was opened.
  package let status: FileStatus
  /// Whether this run made it, so that no earlier one has left anything there.
  package let isNew: Bool
  package let calls: any FileSystemCalls
  private let descriptor: Descriptor
  private let newFiles = Mutex(NewFileTraits())

  /// Valid as long as this object lives.
  package var raw: Int32 { descriptor.raw }

  package var identity: FileIdentity { status.identity }

  package init(
    _ descriptor: consuming Descriptor, path: PathBytes, status: FileStatus, isNew: Bool = false,
    calls: any FileSystemCalls
  ) {
    self.descriptor = descriptor
    self.path = path
    self.status = status
    self.isNew = isNew
    self.calls = calls
  }

  /// - Throws: the error of looking at it.
  package convenience init(
    _ descriptor: consuming Descriptor, path: PathBytes, isNew: Bool = false, calls: any FileSystemCalls
  ) throws(BatchError) {
    let status = try calls.status(of: descriptor)
    self.init(descriptor, path: path, status: status, isNew: isNew, calls: calls)
  }

  /// Opens the folder of an output that was named by the user; links on the way are followed.
  ///
  /// - Throws: `unwritable`, or `exhausted`, with the path of the output.
  package convenience init(of target: PathBytes, calls: any FileSystemCalls) throws(BatchError) {
    do throws(BatchError) {
      try self.init(
        try FolderOpener(calls: calls).open(target.parent, followingLast: true), path: target.parent,
        calls: calls)
    } catch {
      throw .output("open the folder of the output", errno: error.errno, path: target)
    }
  }

  // MARK: Names

  /// The status of a name in the folder; a link is not followed.
  ///
  /// - Returns: nil where the name does not exist.
  /// - Throws: the error of looking, with the path.
  package func look(at name: PathBytes) throws(BatchError) -> FileStatus? {
    var raw = stat()
    let failed = name.withCString {
      calls.status(of: $0, at: self.raw, followingLinks: false, into: &raw)
    }
    if failed == -ENOENT { return nil }
    guard failed == 0 else { throw .syscall("look at", errno: -failed, path: path.appending(name.bytes)) }
    return FileStatus(raw)
  }

  /// Opens what has a name in the folder, not through a link.
  ///
  /// - Returns: the descriptor, or the negative error number.
  package func open(_ name: PathBytes, flags: Int32) -> Int32 {
    name.withCString { calls.open($0, at: raw, flags: flags | O_NOFOLLOW) }
  }

  /// Opens a file with a name in the folder to read it, not through a link.
  ///
  /// - Throws: the error of the call.
  package func openFile(_ name: PathBytes) throws(BatchError) -> Descriptor {
    try calls.openFile(name, in: raw, followingLast: false)
  }

  /// Opens what has a name in the folder as a place only, also a symbolic link.
  ///
  /// - Throws: the error of the call.
  package func openPlace(_ name: PathBytes) throws(BatchError) -> Descriptor {
    let opened = open(name, flags: clinux_o_path)
    guard opened >= 0 else { throw .syscall("open", errno: -opened) }
    return Descriptor(owning: opened)
  }

  /// The same folder, opened to be listed, synced and described.
  ///
  /// - Throws: the error of the call.
  package func readable() throws(BatchError) -> OpenFolder {
    let opened = open(".", flags: O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    guard opened >= 0 else { throw .syscall("open the folder", errno: -opened) }
    return OpenFolder(Descriptor(owning: opened), path: path, status: status, calls: calls)
  }

  /// Whether this user may make and remove names in the folder.
  ///
  /// - Returns: 0 or the error number.
  package func writeAccess() -> Int32 {
    ".".withCString { faccessat(raw, $0, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno }
  }

  /// What this user may still write to the file system, in bytes; nil where that is not known.
  package var freeBytes: Int64? {
    let free = clinux_free_bytes(raw)
    return free < 0 ? nil : free
  }

  /// Whether it is on an overlay, which reports no errors of writing by `syncfs(2)`; nil where that is not known.
  package var isOverlay: Bool? {
    calls.fileSystemType(of: raw).map { $0 == clinux_overlay_file_system }
  }

  /// Removes a name, that of an empty folder where `isFolder` says so.
  ///
  /// - Returns: 0 or the error number.
  @discardableResult
  package func remove(_ name: PathBytes, isFolder: Bool = false, by right: CommitRight) -> Int32 {
    -calls.remove(name, in: raw, isFolder: isFolder)
  }

  /// Makes something under a temporary name, and gives it the name of what is there.
  ///
  /// - Returns: 0 or the error number.
  package func replace(
    _ name: PathBytes, in area: StagingArea = .shared, by right: CommitRight, _ make: (PathBytes) -> Int32
  ) -> Int32 {
    let step = TemporaryName()
    let made = area.add(step, in: self) { Int(make(PathBytes(step.bytes))) }
    guard made >= 0 else { return Int32(truncatingIfNeeded: -made) }
    // If both are names of one inode, rename(2) leaves both.
    defer { area.remove(step, unlinking: true) }
    return -calls.rename(PathBytes(step.bytes), in: raw, to: name, in: raw)
  }

  // MARK: New files

  /// Makes a file that has no name yet (`O_TMPFILE`).
  ///
  /// Its owner and mode, which the folder, its lists and the umask make, are looked at once for all files that are
  /// asked for with the same permissions.
  ///
  /// - Returns: nil where the file system makes none, or a negative error number in place of a descriptor.
  func makeUnnamed(permissions: UInt32) -> (file: Int, status: FileStatus?)? {
    let known = newFiles.withLock { $0 }
    guard Self.canNameOpenFiles, known.areUnnamed else { return nil }
    let file = calls.create(".", in: raw, flags: O_RDWR | clinux_o_tmpfile, permissions: permissions)
    if [-EOPNOTSUPP, -EISDIR, -ENOENT, -EINVAL].contains(Int32(truncatingIfNeeded: file)) {
      newFiles.withLock { $0.areUnnamed = false }
      return nil
    }
    if let given = known.given, given.permissions == permissions { return (file, given.status) }
    guard file >= 0 else { return (file, nil) }
    return (file, statusOfNew(Int32(truncatingIfNeeded: file), permissions: permissions))
  }

  /// Owner and mode of a new file, which are the same for each file of the folder that is asked for with the same permissions.
  ///
  /// - Returns: nil where it cannot be looked at.
  func statusOfNew(_ file: Int32, permissions: UInt32) -> FileStatus? {
    if let given = newFiles.withLock({ $0.given }), given.permissions == permissions { return given.status }
    var raw = stat()
    guard calls.status(of: file, into: &raw) == 0 else { return nil }
    let status = FileStatus(raw)
    newFiles.withLock { $0.given = (permissions, status) }
    return status
  }

  /// What is known of the owner and mode of new files.
  package var knownStatusOfNew: FileStatus? { newFiles.withLock { $0.given?.status } }

  /// Whether a file without a name can get one: in older kernels users other than root need /proc for that.
  private static let canNameOpenFiles = Glibc.access("/proc/self/fd", F_OK) == 0

  /// Asked once.
  package var listsOfNewFiles: ListsOfNewFiles {
    newFiles.withLock { known in
      if let lists = known.lists { return lists }
      let size = PathBytes(AccessList.defaultName).withCString { clinux_fgetxattr(raw, $0, nil, 0) }
      let lists: ListsOfNewFiles = size > 0 ? .inherited : size < 0 && errno == ENOTSUP ? .unsupported : .none
      known.lists = lists
      return lists
    }
  }
}

extension BatchError {
  /// The error of a call about an output: `.unwritable`, except for a limit of the machine, an impossible name, and a run that
  /// is being stopped.
  package static func output(_ action: String, errno number: Int32, path: PathBytes? = nil) -> BatchError {
    let error = BatchError.syscall(action, errno: number, path: path)
    if number == ECANCELED { return error.recoded(.cancelled) }
    return [.exhausted, .invalid].contains(error.code) ? error : error.recoded(.unwritable)
  }
}
