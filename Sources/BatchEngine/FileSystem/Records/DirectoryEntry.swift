/// One entry of a folder as `getdents64(2)` reports it.
package struct DirectoryEntry: Sendable {
  /// Where the name begins in the folder's arena.
  package let nameOffset: Int
  /// nil when the file system does not say; `stat(2)` then does.
  package let kind: FileStatus.Kind?
  /// The inode as the folder has it, which is not that of a file system mounted there.
  package let inode: UInt64
}
