import BatchEngine

/// A member that was chosen, and the place it goes to.
struct ExtractionOrder: Sendable {
  let entry: ArchiveEntry
  let place: RelativePath
  /// Where the first name of a hard link goes.
  var linkPlace: RelativePath?
  /// The SHA-256 that its content has to have; nil where the archive alone says what it is.
  var digest: Digest?
  /// What it has to wait for.
  var turn = MemberClaims.Turn.any

  /// Whether it is one more name of the file that has this name: so archives have a path that was archived twice.
  var isLinkToItself: Bool { entry.kind == .hardLink && entry.size == 0 && linkPlace?.bytes == place.bytes }
}
