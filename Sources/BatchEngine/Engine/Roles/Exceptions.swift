// The places that use a right which their role does not have. Each has a name of its own here and is used by that place
// alone; it goes when the place is mended. Nothing is added.

extension ReadingRight {
  // Sources that read.

  /// `TreeWalker`: maps of data and holes.
  package static var treeWalker: ReadingRight { ReadingRight() }
  /// `MemberFeed`: the members of an archive without an index, for an extraction.
  package static var memberFeed: ReadingRight { ReadingRight() }
  /// `MemberListSource`: the same for a list.
  package static var memberListSource: ReadingRight { ReadingRight() }
  /// `VerifySource`: the same for a verification.
  package static var verifySource: ReadingRight { ReadingRight() }
  /// `WrittenMembers`: an archive in one stream that was just written.
  package static var writtenMembers: ReadingRight { ReadingRight() }
  /// `IndexedArchive`: the index of an archive, which is the plan of a source.
  package static var indexedArchive: ReadingRight { ReadingRight() }

  // Collectors that read.

  /// `SegmentCut`: a segment that has to lose a member.
  package static var segmentCut: ReadingRight { ReadingRight() }
}
