import BatchEngine
import CLinux
import Glibc
import Synchronization

/// A folder that is open for what is looked at, written and removed in it; it closes when the last user is done
/// with it.
final class OutputFolder: Sendable {
  /// Whether files that are made in a folder get an access control list from it.
  enum ListsOfNewFiles {
    /// It has none to give. That may change at any time.
    case none
    case inherited
    /// The file system has no such lists.
    case unsupported
  }

  /// What is known of the files that are made in the folder.
  private struct NewFileTraits {
    var areUnnamed = true
    /// What a new file got that was asked for with these permissions.
    var given: (permissions: UInt32, status: FileStatus)?
    var lists: ListsOfNewFiles?
  }

  /// For messages.
  let path: PathBytes
  /// As it was when the folder was opened.
  let status: FileStatus
  /// Whether this run made it, so that no earlier one has left anything there.
  let isNew: Bool
  private let descriptor: Descriptor
  private let newFiles = Mutex(NewFileTraits())

  /// Valid as long as this object lives.
  var raw: Int32 { descriptor.raw }

  var identity: FileIdentity { status.identity }

  init(_ descriptor: consuming Descriptor, path: PathBytes, status: FileStatus, isNew: Bool = false) {
    self.descriptor = descriptor
    self.path = path
    self.status = status
    self.isNew = isNew
  }

  /// Opens the folder of an output that was named by the user; links on the way are followed.
  ///
  /// - Throws: `unwritable`, or `exhausted`, with the path of the output.
  convenience init(of target: PathBytes, calls: any FileSystemCalls) throws(BatchError) {
    do throws(BatchError) {
      let descriptor = try DirectoryOpener(calls: calls).open(target.parent, followingLast: true)
      let status = try calls.status(of: descriptor)
      self.init(descriptor, path: target.parent, status: status)
    } catch {
      throw AtomicFileOutput.failure("open the folder of the output", Int(error.errno), target)
    }
  }

  /// What has a name in the folder, itself and not what it leads to.
  ///
  /// - Returns: nil where nothing has it.
  /// - Throws: the error of looking, with the path.
  func look(at name: PathBytes) throws(BatchError) -> FileStatus? {
    var raw = stat()
    let failed = name.withCString { fstatat(self.raw, $0, &raw, AT_SYMLINK_NOFOLLOW) == 0 ? 0 : errno }
    if failed == ENOENT { return nil }
    guard failed == 0 else {
      throw .syscall("look at", errno: failed, path: path.appending(name.bytes))
    }
    return FileStatus(raw)
  }

  /// Makes a file that has no name yet.
  ///
  /// Its owner and mode, which the folder, its lists and the umask make, are looked at once for all files that are
  /// asked for with the same permissions.
  ///
  /// - Returns: nil where the file system makes none, or a negative error number in place of a descriptor.
  func makeUnnamed(permissions: UInt32) -> (file: Int, status: FileStatus?)? {
    let known = newFiles.withLock { $0 }
    guard known.areUnnamed else { return nil }
    let file = UnnamedFile.make(in: raw, permissions: permissions)
    if UnnamedFile.isUnknown(file) {
      newFiles.withLock { $0.areUnnamed = false }
      return nil
    }
    if let given = known.given, given.permissions == permissions { return (file, given.status) }
    var raw = stat()
    guard file >= 0, fstat(Int32(file), &raw) == 0 else { return (file, nil) }
    let status = FileStatus(raw)
    newFiles.withLock { $0.given = (permissions, status) }
    return (file, status)
  }

  /// Asked once.
  var listsOfNewFiles: ListsOfNewFiles {
    newFiles.withLock { known in
      if let lists = known.lists { return lists }
      let size = PathBytes(AccessList.defaultName).withCString { clinux_fgetxattr(raw, $0, nil, 0) }
      let lists: ListsOfNewFiles = size > 0 ? .inherited : size < 0 && errno == ENOTSUP ? .unsupported : .none
      known.lists = lists
      return lists
    }
  }
}
