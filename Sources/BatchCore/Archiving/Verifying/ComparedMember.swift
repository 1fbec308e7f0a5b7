import BatchEngine

/// What an archive says of a member, for holding a folder against it.
struct ComparedMember: Sendable {
  let path: PathBytes
  let kind: ArchiveEntry.Kind
  let size: UInt64
  let modified: FileStatus.Time
  /// Of the content; nil for what has none, and for what is too sparse.
  let digest: Digest?
  /// Nil for a member that is damaged, of which the index knows a little.
  let entry: ArchiveEntry?
  /// Whether times have all digits that there are, and not those of the format.
  let hasExactTime: Bool
  let tellsOwner: Bool
  /// Whether it would have extended attributes if the file had any.
  let tellsAttributes: Bool

  /// A member that an index knows.
  init(_ member: MemberIndex.Member, _ entry: ArchiveEntry?) {
    path = member.path
    kind = member.kind
    size = member.size
    modified = member.modified
    digest = member.digest
    self.entry = entry
    hasExactTime = true
    tellsOwner = true
    tellsAttributes = true
  }

  /// A member of an archive without an index.
  init(_ entry: ArchiveEntry, _ digest: Digest?, tellsOwner: Bool) {
    path = entry.path
    kind = entry.kind
    size = entry.size
    modified = entry.modified
    self.digest = digest
    self.entry = entry
    hasExactTime = false
    self.tellsOwner = tellsOwner
    tellsAttributes = !entry.attributes.isEmpty
  }

  /// Whether a file has the time, to the precision in which the archive has it.
  func hasTime(_ time: FileStatus.Time) -> Bool {
    guard time.seconds == modified.seconds else { return false }
    // Of the last second before 1970 headers keep no fraction.
    if time.nanoseconds == modified.nanoseconds || time.seconds == -1 { return true }
    guard !hasExactTime else { return false }
    // Formats keep seconds, or tenths of microseconds, or all of it.
    if modified.nanoseconds == 0 { return true }
    return modified.nanoseconds % 100 == 0 && modified.nanoseconds / 100 == time.nanoseconds / 100
  }
}
