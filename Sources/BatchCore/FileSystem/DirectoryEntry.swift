/// One entry of a folder as `getdents64(2)` tells it.
struct DirectoryEntry: Sendable {
  /// Where the name begins in the folder's arena.
  let nameOffset: Int
  /// nil when the file system does not say; `stat(2)` then does.
  let kind: FileStatus.Kind?
  /// The inode as the folder has it, which is not that of a file system mounted there.
  let inode: UInt64
}
