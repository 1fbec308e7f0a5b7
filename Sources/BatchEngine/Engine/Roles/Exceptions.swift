// The places that use a right which their role does not have. Each has a name of its own here and is used by that place
// alone; it goes when the place is mended. Nothing is added.

extension ReadingRight {
  /// `SegmentCut`, of a collector: a segment in memory, which the run has just made, and which has to lose a member.
  package static var segmentCut: ReadingRight { ReadingRight() }
}
