/// A member as a list shows it.
public struct ListedMember: Sendable {
  public let path: PathBytes
  public let kind: ArchiveEntry.Kind
  public let size: UInt64
  public let modified: FileStatus.Time
  /// Nil where only the index of the archive was read.
  public let entry: ArchiveEntry?
  /// Of the content; nil where there is none or nobody asked.
  public let digest: Digest?

  init(_ entry: ArchiveEntry, digest: Digest? = nil) {
    self.init(
      path: entry.path, kind: entry.kind, size: entry.size, modified: entry.modified, entry: entry,
      digest: digest)
  }

  init(_ member: MemberIndex.Member) {
    self.init(
      path: member.path, kind: member.kind, size: member.size, modified: member.modified,
      digest: member.digest)
  }

  init(
    path: PathBytes, kind: ArchiveEntry.Kind, size: UInt64, modified: FileStatus.Time,
    entry: ArchiveEntry? = nil, digest: Digest?
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.modified = modified
    self.entry = entry
    self.digest = digest
  }
}
