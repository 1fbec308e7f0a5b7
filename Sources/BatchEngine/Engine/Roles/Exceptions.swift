// Exceptions: code that uses a right which its role does not have. Each has its own name here, and is removed when the code is
// fixed. None is added.

extension ReadingRight {
  /// `SegmentRewriter`, of a collector: a segment in memory, which the run has just made, and which has to lose a member.
  package static var segmentCut: ReadingRight { ReadingRight() }
}
