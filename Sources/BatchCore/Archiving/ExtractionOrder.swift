/// A member that was chosen, and the place it goes to.
struct ExtractionOrder: Sendable {
  let entry: ArchiveEntry
  let place: MemberPath
  /// Where the first name of a hard link goes.
  var linkPlace: MemberPath?
}

/// What is put off until all files are there.
enum DeferredStep: Sendable {
  /// So that nothing is ever written through a link of the archive.
  case symbolicLink(ExtractionOrder)
  /// Its first name may come from another lane, or be a symbolic link.
  case hardLink(ExtractionOrder)
  /// A hard link that came with the content, as in cpio, where the first names are empty.
  case contentOfLink(ExtractionOrder)
  /// The time of a folder is that of its last change.
  case folder(ExtractionOrder)
}
