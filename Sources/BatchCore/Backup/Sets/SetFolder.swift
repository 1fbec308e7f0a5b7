import BatchEngine
import var Glibc.ENOENT

/// The folder of a set, open for the removal of its files: they are removed by their names below its descriptor.
struct SetFolder {
  private let folder: OpenFolder
  private let right: CommitRight

  /// - Throws: the error of opening the folder.
  init(_ set: BackupSet, in run: RunContext) throws(BatchError) {
    try self.init(set.directory, in: run)
  }

  init(_ directory: PathBytes, in run: RunContext) throws(BatchError) {
    right = run.commits
    folder = try run.folders.folder(named: directory)
  }

  /// Removes a file that may be gone already.
  ///
  /// - Throws: `invalid` for what is not the name of a file in the folder; `unwritable`.
  func remove(_ file: PathBytes) throws(BatchError) {
    guard !file.containsNUL, !file.bytes.contains(UInt8(ascii: "/")) else {
      throw BatchError(.invalid, "not removed: it is not a name in the folder of the set", path: file)
    }
    let failed = folder.remove(file, by: right)
    guard failed == 0 || failed == ENOENT else {
      throw BatchError.syscall("remove", errno: failed, path: folder.path.appending(file.bytes))
        .recoded(.unwritable)
    }
  }

  /// Brings removals to the disk.
  ///
  /// - Throws: `unwritable`.
  func sync() throws(BatchError) {
    let failed = -folder.calls.sync(folder.raw)
    guard failed == 0 else {
      throw BatchError.syscall("sync the folder", errno: failed, path: folder.path).recoded(.unwritable)
    }
  }
}
