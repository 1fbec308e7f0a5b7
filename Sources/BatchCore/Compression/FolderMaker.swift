import Glibc

/// Makes the folders that outputs are mirrored into.
enum FolderMaker {
  /// Makes a folder and those above it, where they are missing.
  ///
  /// - Throws: `unwritable` with the folder's path.
  static func make(_ folder: PathBytes) throws(BatchError) {
    if make(one: folder) == 0 { return }
    var path = [UInt8]()
    for (index, name) in folder.bytes.split(separator: UInt8(ascii: "/")).enumerated() {
      if index > 0 || folder.isAbsolute { path.append(UInt8(ascii: "/")) }
      path += name
      let failed = make(one: PathBytes(path))
      guard failed == 0 else {
        throw BatchError.syscall("make the folder", errno: failed, path: PathBytes(path)).recoded(.unwritable)
      }
    }
  }

  /// - Returns: 0 when the folder is there, or the error number.
  private static func make(one folder: PathBytes) -> Int32 {
    let failed = folder.withCString { mkdir($0, 0o777) == 0 ? 0 : errno }
    guard failed == EEXIST else { return failed }
    var raw = stat()
    let result = folder.withCString { stat($0, &raw) }
    return result == 0 && FileStatus(raw).kind == .directory ? 0 : ENOTDIR
  }
}
