import BatchEngine

/// A selected member, and its place below the target.
struct ExtractionOrder: Sendable {
  var entry: ArchiveEntry
  let place: RelativePath
  /// The place of the first name of a hard link.
  var linkPlace: RelativePath?
  /// The expected SHA-256 of its content; nil if unknown.
  var digest: Digest?
  /// Whether it is a folder that was not selected, but contains a selected member: it is neither counted nor reported, and keeps
  /// its metadata if it exists.
  var isOnWay = false
  /// Whether its pieces come in any order, and are read back for the comparison with the digest.
  var isJoined = false
  /// Whether it must wait for earlier members.
  var wait = MemberClaims.Wait.nothing

  /// Whether an earlier member has its name.
  var replaces: Bool { wait == .replaces || wait == .replacesFolder }

  /// Whether it is a hard link to an earlier member of its own name: archives contain that if a path was archived twice.
  var isLinkToItself: Bool {
    replaces && entry.kind == .hardLink && entry.size == 0 && linkPlace?.bytes == place.bytes
  }
}
