// Exceptions: code that uses a right which its role does not have. Each has its own name here, and is removed when the code is
// fixed. No exception may be added.

extension ReadingRight {
  /// `SegmentRewriter`, which belongs to a collector, decodes a segment in memory that the run has just made, to remove a
  /// member from it.
  package static var segmentCut: ReadingRight { ReadingRight() }
}

// The two ways in which a call of a worker renames or removes a file. Each has its own right, since a worker has none.

extension CommitRight {
  /// `EarlyNames` gives a new file of an extraction its name on the lane: a temporary name and a rename take a fifth more processor
  /// time. It never replaces a file, unless damage elsewhere does not end the extraction. The collector removes the file if the
  /// extraction turns out to end before it.
  package static var earlyName: CommitRight { CommitRight() }

  /// Without syncs the thread that adds an output to the `OutputStage` commits it, and removes its source: a batch saves syncs, and
  /// without them it only delays. The output was proved before, and the collector reports it as usual.
  package static var unsyncedOutput: CommitRight { CommitRight() }
}
