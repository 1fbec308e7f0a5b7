import BatchEngine

/// A member as a list shows it.
public struct ListedMember: Sendable {
  public let path: PathBytes
  public let kind: ArchiveEntry.Kind
  public let size: UInt64
  public let modified: FileStatus.Time
  /// What the index of the archive says of its reading.
  public let flags: MemberFlags
  /// Nil where only the index of the archive was read.
  public let entry: ArchiveEntry?
  /// Of the content; nil where there is none or nobody asked.
  public let digest: Digest?
  /// What is to be said of other members of its name.
  var mark = SupersededMembers.Mark.none

  /// Whether a later member has its name.
  public var isSuperseded: Bool { mark == .superseded }

  /// Whether an earlier member has its name, in an archive that is read once: its row came before this was known.
  public var supersedes: Bool { mark == .supersedes }

  init(_ entry: ArchiveEntry, digest: Digest? = nil, flags: MemberFlags = []) {
    self.init(
      path: entry.path, kind: entry.kind, size: entry.size, modified: entry.modified, flags: flags,
      entry: entry, digest: digest)
  }

  init(_ member: MemberIndex.Member) {
    self.init(
      path: member.path, kind: member.kind, size: member.size, modified: member.modified,
      flags: member.flags, digest: member.digest)
  }

  init(
    path: PathBytes, kind: ArchiveEntry.Kind, size: UInt64, modified: FileStatus.Time,
    flags: MemberFlags, entry: ArchiveEntry? = nil, digest: Digest?
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.modified = modified
    self.flags = flags
    self.entry = entry
    self.digest = digest
  }
}
