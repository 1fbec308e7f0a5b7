import BatchEngine

/// A member as a list shows it.
package struct ListedMember: Sendable {
  package let path: PathBytes
  package let kind: ArchiveEntry.Kind
  package let size: UInt64
  package let modified: FileStatus.Time
  /// The flags in the index about how the member was read.
  package var flags: MemberFlags = []
  /// Nil if only the index of the archive was read.
  package var entry: ArchiveEntry?
  /// The digest of the content; nil for a member without content, or when it was not computed.
  package var digest: Digest?
  /// Whether other members have its name.
  var mark = SupersededMembers.Mark.none

  /// Whether a later member has its name.
  package var isSuperseded: Bool { mark == .superseded }

  /// Whether an earlier member has its name. Only in an archive that is read once: the row of the earlier member was written before this
  /// was known.
  package var supersedes: Bool { mark == .supersedes }
}

extension ListedMember {
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
}
