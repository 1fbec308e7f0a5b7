import BatchEngine

/// A selected member, and its place below the target.
struct ExtractionOrder: Sendable {
  var entry: ArchiveEntry
  let place: RelativePath
  /// The place of the first name of a hard link.
  var linkPlace: RelativePath?
  /// The expected SHA-256 of its content; nil if unknown.
  var digest: Digest?
  /// Whether it must wait for earlier members.
  var wait = MemberClaims.Wait.nothing

  /// Whether it is a hard link to its own name: archives contain that if a path was archived twice.
  var isLinkToItself: Bool { entry.kind == .hardLink && entry.size == 0 && linkPlace?.bytes == place.bytes }
}
