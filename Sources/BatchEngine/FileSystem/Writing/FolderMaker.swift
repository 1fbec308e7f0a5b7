import Glibc

/// Makes the folders that outputs go to.
package enum FolderMaker {
  /// Makes a folder and those above it, where they are missing.
  ///
  /// - Returns: whether this call made it, and it was not there before.
  /// - Throws: `unwritable` with the folder's path.
  @discardableResult
  package static func make(_ folder: PathBytes) throws(BatchError) -> Bool {
    var isNew = false
    if make(one: folder, &isNew) == 0 { return isNew }
    var path = [UInt8]()
    for (index, name) in folder.bytes.split(separator: UInt8(ascii: "/")).enumerated() {
      if index > 0 || folder.isAbsolute { path.append(UInt8(ascii: "/")) }
      path += name
      let failed = make(one: PathBytes(path), &isNew)
      guard failed == 0 else {
        throw BatchError.syscall("make the folder", errno: failed, path: PathBytes(path)).recoded(.unwritable)
      }
    }
    return isNew
  }

  /// Makes a folder that is missing, in one that is there.
  ///
  /// - Throws: `unwritable` with the folder's path.
  package static func makeLast(_ folder: PathBytes) throws(BatchError) {
    var isNew = false
    let failed = make(one: folder, &isNew)
    guard failed == 0 else {
      throw BatchError.syscall("make the folder", errno: failed, path: folder).recoded(.unwritable)
    }
  }

  /// Refuses a folder that ``makeLast(_:)`` would refuse; nothing is made.
  ///
  /// - Throws: `unwritable` with the folder's path.
  package static func checkLast(_ folder: PathBytes) throws(BatchError) {
    var raw = stat()
    var failed = folder.withCString { stat($0, &raw) == 0 ? 0 : errno }
    if failed == 0 { failed = FileStatus(raw).kind == .directory ? 0 : ENOTDIR }
    if failed == ENOENT {
      failed = folder.parent.withCString {
        faccessat(AT_FDCWD, $0, W_OK | X_OK, AT_EACCESS) == 0 ? 0 : errno
      }
    }
    guard failed == 0 else {
      throw BatchError.syscall("make the folder", errno: failed, path: folder).recoded(.unwritable)
    }
  }

  /// - Returns: 0 when the folder is there, or the error number.
  private static func make(one folder: PathBytes, _ isNew: inout Bool) -> Int32 {
    let failed = -LinuxCalls().makeFolder(folder, in: AT_FDCWD, permissions: 0o777)
    isNew = failed == 0
    guard failed == EEXIST else { return failed }
    var raw = stat()
    let result = folder.withCString { stat($0, &raw) }
    return result == 0 && FileStatus(raw).kind == .directory ? 0 : ENOTDIR
  }
}
