import CLinux
import Glibc
import Synchronization

/// An open folder, in which files are examined, written and removed with the calls of the run. It closes when its last user
/// releases it.
package final class OpenFolder: Sendable {
  /// Whether files that are created in a folder inherit an access control list.
  package enum ListsOfNewFiles: Sendable {
    /// The folder has no default list now. That may change at any time.
    case none
    case inherited
    /// The file system has no such lists.
    case unsupported
  }

  /// Facts about the files that are created in the folder.
  private struct NewFileTraits {
    var areUnnamed = true
    /// Status of a new file that was created with these permissions.
    var given: (permissions: UInt32, status: FileStatus)?
    var lists: ListsOfNewFiles?
  }

  /// For messages.
  package let path: PathBytes
  /// The status when the folder was opened.
  package let status: FileStatus
  /// Whether this run created the folder, so that it contains nothing from earlier runs.
  package let isNew: Bool
  package let calls: any FileSystemCalls
  private let descriptor: Descriptor
  private let newFiles: Mutex<NewFileTraits>

  /// Valid as long as this object lives.
  package var raw: Int32 { descriptor.raw }

  package var identity: FileIdentity { status.identity }

  package init(
    _ descriptor: consuming Descriptor, path: PathBytes, status: FileStatus, isNew: Bool = false,
    listsOfNewFiles lists: ListsOfNewFiles? = nil, calls: any FileSystemCalls
  ) {
    newFiles = Mutex(NewFileTraits(lists: lists))
    self.descriptor = descriptor
    self.path = path
    self.status = status
    self.isNew = isNew
    self.calls = calls
  }

  /// - Throws: the error of examining it.
  package convenience init(
    _ descriptor: consuming Descriptor, path: PathBytes, isNew: Bool = false,
    listsOfNewFiles lists: ListsOfNewFiles? = nil, calls: any FileSystemCalls
  ) throws(BatchError) {
    let status = try calls.status(of: descriptor)
    self.init(
      descriptor, path: path, status: status, isNew: isNew, listsOfNewFiles: lists, calls: calls)
  }

  /// Opens the folder of an output that the user named; links on the way are followed.
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

  /// The status of a file in the folder; a link is not followed.
  ///
  /// - Returns: nil where the name does not exist.
  /// - Throws: the error of the call, with the path.
  package func look(at name: PathBytes) throws(BatchError) -> FileStatus? {
    var raw = stat()
    let failed = name.withCString {
      calls.status(of: $0, at: self.raw, followingLinks: false, into: &raw)
    }
    if failed == -ENOENT { return nil }
    guard failed == 0 else { throw .syscall("look at", errno: -failed, path: path.appending(name.bytes)) }
    return FileStatus(raw)
  }

  /// Opens a file in the folder, not through a link.
  ///
  /// - Returns: the descriptor, or the negative error number.
  package func open(_ name: PathBytes, flags: Int32) -> Int32 {
    name.withCString { calls.open($0, at: raw, flags: flags | O_NOFOLLOW) }
  }

  /// Opens a file in the folder to read it, not through a link.
  package func openFile(_ name: PathBytes) throws(BatchError) -> Descriptor {
    try calls.openFile(name, in: raw, followingLast: false)
  }

  /// Opens a file or a symbolic link in the folder with `O_PATH`.
  package func openPlace(_ name: PathBytes) throws(BatchError) -> Descriptor {
    let opened = open(name, flags: clinux_o_path)
    guard opened >= 0 else { throw .syscall("open", errno: -opened) }
    return Descriptor(owning: opened)
  }

  /// The same folder, opened for listing, syncing and reading its metadata.
  package func readable() throws(BatchError) -> OpenFolder {
    let opened = open(".", flags: O_RDONLY | O_DIRECTORY | O_NONBLOCK)
    guard opened >= 0 else { throw .syscall("open the folder", errno: -opened) }
    return OpenFolder(Descriptor(owning: opened), path: path, status: status, calls: calls)
  }

  /// Checks that this user may create and remove files in the folder.
  ///
  /// - Returns: 0 or the error number.
  package func writeAccess() -> Int32 {
    ".".withCString { faccessat(raw, $0, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno }
  }

  /// The bytes that this user may still write to the file system; nil if unknown.
  package var freeBytes: Int64? {
    let free = clinux_free_bytes(raw)
    return free < 0 ? nil : free
  }

  /// Whether it is on overlayfs, whose `syncfs(2)` reports no write errors; nil if unknown.
  package var isOverlay: Bool? {
    calls.fileSystemType(of: raw).map { $0 == clinux_overlay_file_system }
  }

  /// Removes the name of a file, or of an empty folder if `isFolder` is true.
  ///
  /// - Returns: 0 or the error number.
  @discardableResult
  package func remove(_ name: PathBytes, isFolder: Bool = false, by right: CommitRight) -> Int32 {
    -calls.remove(name, in: raw, isFolder: isFolder)
  }

  /// Creates something under a temporary name, and renames it over the existing name.
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

  /// Creates a file that has no name yet (`O_TMPFILE`).
  ///
  /// Its owner and mode depend on the folder, its access control lists and the umask. They are read once for all files that are
  /// created with the same permissions.
  ///
  /// - Returns: nil if the file system does not support this; `file` is a descriptor or a negative error number.
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

  /// Status of a new file: owner and mode are the same for all files that are created in the folder with the same permissions.
  ///
  /// - Returns: nil if it cannot be examined.
  func statusOfNew(_ file: Int32, permissions: UInt32) -> FileStatus? {
    if let given = newFiles.withLock({ $0.given }), given.permissions == permissions { return given.status }
    guard let status = try? calls.status(of: file) else { return nil }
    newFiles.withLock { $0.given = (permissions, status) }
    return status
  }

  /// The known owner and mode of new files.
  package var knownStatusOfNew: FileStatus? { newFiles.withLock { $0.given?.status } }

  /// Whether a file without a name can get one: in older kernels users other than root need /proc for that.
  private static let canNameOpenFiles = Glibc.access("/proc/self/fd", F_OK) == 0

  /// Determined once.
  package var listsOfNewFiles: ListsOfNewFiles {
    newFiles.withLock { known in
      if let lists = known.lists { return lists }
      let lists: ListsOfNewFiles =
        switch sizeOfDefaultList {
        case 1...: .inherited
        case -Int(ENOTSUP): .unsupported
        // Without /proc a folder that was opened with O_PATH does not show it.
        case -Int(ENOENT), -Int(ENOTDIR): .inherited
        default: .none
        }
      known.lists = lists
      return lists
    }
  }

  /// The size of the list that new files inherit, or the negative error number.
  private var sizeOfDefaultList: Int {
    PathBytes(AccessList.defaultName).withCString { name in
      var size = clinux_fgetxattr(raw, name, nil, 0)
      if size < 0, errno == EBADF { size = clinux_getxattr("/proc/self/fd/\(raw)", name, nil, 0) }
      return size < 0 ? -Int(errno) : size
    }
  }
}

extension BatchError {
  /// The error of a call for an output: `.unwritable`, except for a limit of the machine, an impossible name, and a run that is
  /// being stopped.
  package static func output(_ action: String, errno number: Int32, path: PathBytes? = nil) -> BatchError {
    let error = BatchError.syscall(action, errno: number, path: path)
    if number == ECANCELED { return error.recoded(.cancelled) }
    return [.exhausted, .invalid].contains(error.code) ? error : error.recoded(.unwritable)
  }
}
