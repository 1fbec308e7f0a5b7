import Glibc

/// Creates the folders for outputs.
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
    var isNew = false
    if make(one: folder, permissions, &isNew) == 0 { return isNew }
    var path = [UInt8]()
    for (index, name) in folder.bytes.split(separator: UInt8(ascii: "/")).enumerated() {
      if index > 0 || folder.isAbsolute { path.append(UInt8(ascii: "/")) }
      path += name
      let failed = make(one: PathBytes(path), permissions, &isNew)
      guard failed == 0 else {
        throw BatchError.syscall("make the folder", errno: failed, path: PathBytes(path)).recoded(.unwritable)
      }
    }
    return isNew
  }

  /// Creates a missing folder in an existing one.
  ///
  /// - Throws: `unwritable` with the folder's path.
  package func makeLast(_ folder: PathBytes) throws(BatchError) {
    var isNew = false
    let failed = make(one: folder, 0o777, &isNew)
    guard failed == 0 else {
      throw BatchError.syscall("make the folder", errno: failed, path: folder).recoded(.unwritable)
    }
  }

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
    guard failed == 0 else {
      throw BatchError.syscall("make the folder", errno: failed, path: folder).recoded(.unwritable)
    }
  }

  /// - Returns: 0 when the folder exists, or the error number.
  private func make(one folder: PathBytes, _ permissions: UInt32, _ isNew: inout Bool) -> Int32 {
    let failed = -calls.makeFolder(folder, permissions: permissions)
    isNew = failed == 0
    if isNew, isSynced { return calls.syncFolder(folder.parent) }
    guard failed == EEXIST else { return failed }
    return (try? calls.status(of: folder, followingLinks: true))?.kind == .directory ? 0 : ENOTDIR
  }
}
