/// One entry of a folder as `getdents64(2)` reports it.
package struct DirectoryEntry: Sendable {
  /// Where the name begins in the folder's arena.
  package let nameOffset: Int
  /// nil when the file system does not report it; then `stat(2)` is needed.
  package let kind: FileStatus.Kind?
  /// The inode number in the folder, which differs from that of a file system mounted there.
  package let inode: UInt64
}
