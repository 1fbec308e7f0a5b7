// The places that use a right which their role does not have. Each has a name of its own here and is used by that place
// alone; it goes when the place is mended. Nothing is added.

extension ReadingRight {
  // Sources that read.

  /// `TreeWalker`: maps of data and holes.
  package static var treeWalker: ReadingRight { ReadingRight() }
  /// `CompressSource`: the first bytes of a large file.
  package static var compressSource: ReadingRight { ReadingRight() }
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

  /// `LargeOutput`: the proof of a large file whose source is removed.
  package static var largeOutput: ReadingRight { ReadingRight() }
  /// `TransformCollector`: the copy of a large file that compression does not make smaller.
  package static var transformCollector: ReadingRight { ReadingRight() }
  /// `SegmentCut`: a segment that has to lose a member.
  package static var segmentCut: ReadingRight { ReadingRight() }
}

extension CommitRight {
  // Workers that commit.

  /// `CompressJob`: hands outputs to the committer.
  package static var compressJob: CommitRight { CommitRight() }
  /// `DecompressJob`: the same.
  package static var decompressJob: CommitRight { CommitRight() }
  /// `ExtractionLane`: names new files early.
  package static var extractionLane: CommitRight { CommitRight() }
}
