// The places that use a right which their role does not have. Each has a name of its own here and is used by that place
// alone; it goes when the place is mended. Nothing is added.

extension ReadingRight {
  // Sources that read.

  /// `TreeWalker`: maps of data and holes.
  package static var treeWalker: ReadingRight { ReadingRight() }

  // Collectors that read.

  /// `SegmentCut`: a segment that has to lose a member.
  package static var segmentCut: ReadingRight { ReadingRight() }
}
