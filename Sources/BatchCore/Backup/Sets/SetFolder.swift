import BatchEngine
import var Glibc.ENOENT

/// The open folder of a set, to remove its files by name below its descriptor.
struct SetFolder {
  private let folder: OpenFolder
  private let right: CommitRight

  init(_ set: BackupSet, in run: RunContext) throws(BatchError) {
    try self.init(set.directory, in: run)
  }

  init(_ directory: PathBytes, in run: RunContext) throws(BatchError) {
    right = run.commits
    folder = try run.folders.folder(named: directory)
  }

  /// Removes a file; it may already be gone.
  ///
  /// - Throws: `invalid` for a name that is not that of a file in the folder; `unwritable`.
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

  /// Syncs removals to the disk.
  ///
  /// - Throws: `unwritable`.
  func sync() throws(BatchError) {
    let failed = -folder.calls.sync(folder.raw)
    guard failed == 0 else {
      throw BatchError.syscall("sync the folder", errno: failed, path: folder.path).recoded(.unwritable)
    }
  }
}
