import BatchEngine

/// A member as a list shows it.
package struct ListedMember: Sendable {
  package let member: ArchivedMember
  /// Nil if only the index of the archive was read.
  package var entry: ArchiveEntry?
  /// Whether other members have its name.
  package var mark = SupersededMembers.Mark.none
}

extension ListedMember {
  init(_ entry: ArchiveEntry, digest: Digest? = nil, flags: MemberFlags = []) {
    self.init(member: ArchivedMember(entry, digest: digest, flags: flags), entry: entry)
  }
}
