// Exceptions: code that uses a right which its role does not have. Each has its own name here, and is removed when the code is
// fixed. No exception may be added.

extension ReadingRight {
  /// `SegmentRewriter`, which belongs to a collector, decodes a segment in memory that the run has just made, to remove a
  /// member from it.
  package static var segmentCut: ReadingRight { ReadingRight() }
}
