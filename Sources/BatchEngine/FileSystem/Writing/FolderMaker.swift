import Glibc

package struct FolderMaker {
  private let calls: any FileSystemCalls
  private let isSynced: Bool

  /// - Parameter isSynced: whether the name of a new folder is synced to the disk; without that, synced files in the folder
  ///   could be lost.
  package init(calls: any FileSystemCalls, isSynced: Bool = false) {
    self.calls = calls
    self.isSynced = isSynced
  }

  /// Creates a folder and its missing parents.
  ///
  /// - Returns: whether this call created the folder.
  /// - Throws: `unwritable` with the folder's path.
  @discardableResult
  package func make(_ folder: PathBytes, permissions: UInt32 = 0o777) throws(BatchError) -> Bool {
    do throws(BatchError) {
      return try make(one: folder, permissions)
    } catch {
      // A file may be in the way higher up, which is named below.
      guard [ENOENT, ENOTDIR].contains(error.errno) else { throw error }
    }
    var isNew = false
    var path = [UInt8]()
    for (index, name) in folder.bytes.split(separator: UInt8(ascii: "/")).enumerated() {
      if index > 0 || folder.isAbsolute { path.append(UInt8(ascii: "/")) }
      path += name
      isNew = try make(one: PathBytes(path), permissions)
    }
    return isNew
  }

  /// Creates a missing folder in an existing one.
  ///
  /// - Returns: whether this call created the folder.
  /// - Throws: `unwritable` with the folder's path.
  @discardableResult
  package func makeLast(_ folder: PathBytes) throws(BatchError) -> Bool {
    try make(one: folder, 0o777)
  }

  /// Removes a folder that this run created, unless something is in it.
  package func removeEmpty(_ folder: PathBytes) { _ = calls.remove(folder, isFolder: true) }

  /// Refuses a folder that ``makeLast(_:)`` would refuse; creates nothing.
  ///
  /// - Throws: `unwritable` with the folder's path.
  package func checkLast(_ folder: PathBytes) throws(BatchError) {
    var failed: Int32 = 0
    do throws(BatchError) {
      if try calls.status(of: folder, followingLinks: true).kind != .directory { failed = ENOTDIR }
    } catch {
      failed = error.errno
    }
    if failed == ENOENT {
      failed = folder.parent.withCString {
        faccessat(AT_FDCWD, $0, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno
      }
    }
    try Self.check(failed, folder)
  }

  /// - Returns: whether this call created the folder; false if it exists.
  private func make(one folder: PathBytes, _ permissions: UInt32) throws(BatchError) -> Bool {
    let failed = -calls.makeFolder(folder, permissions: permissions)
    if failed == 0, isSynced { try Self.check(calls.syncFolder(folder.parent), folder) }
    guard failed == EEXIST else {
      try Self.check(failed, folder)
      return true
    }
    let kind = (try? calls.status(of: folder, followingLinks: true))?.kind
    try Self.check(kind == .directory ? 0 : ENOTDIR, folder)
    return false
  }

  private static func check(_ failed: Int32, _ folder: PathBytes) throws(BatchError) {
    guard failed != 0 else { return }
    let error = BatchError.syscall("make the folder", errno: failed, path: folder)
    throw BatchError(
      .unwritable, error.message, path: folder, errno: failed,
      remedy: failed == ENOENT ? "make the directory above it first" : error.remedy)
  }
}
