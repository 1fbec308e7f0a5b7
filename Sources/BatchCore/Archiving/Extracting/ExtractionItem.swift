import BatchEngine

/// One step of an extraction: a member with its content, or a segment of an archive that has an index.
package struct ExtractionItem: Sendable {
  enum Step: Sendable {
    /// A member with all of its content, or without any.
    case member(ExtractionOrder, [UInt8])
    /// A large file, of which pieces follow, and then its end.
    case begin(ExtractionOrder)
    case piece([UInt8], offset: UInt64)
    /// The end of a large file, with the error of reading it.
    case end(BatchError?)
    /// A member whose content cannot be read.
    case lost(ExtractionOrder, BatchError)
    /// Members of an archive that has an index.
    case segment(SegmentPlan)
    /// An entry that is not a valid member, or cannot be read.
    case problem(BatchError)
    /// A member in a folder that was refused and named before.
    case belowRefused
    /// Members that are not selected, or whose path is empty after stripping.
    case passed
    case note(Extraction.Note)
  }

  let step: Step
}

/// The results of one chunk of an extraction.
package struct ExtractedChunk: ChunkOutput, Sendable {
  enum Row: Sendable {
    /// A file with content and name.
    case made(MadeFile)
    /// A file with its content, which is to get its name.
    case file(ExtractionOrder, StagedFile)
    case deferred(DeferredStep)
    /// A member that is made when all members before it are there.
    case waiting(ExtractionOrder, WaitingContent)
    /// What is there is as new as the member.
    case kept(ExtractionOrder)
    /// A later member has the name.
    case superseded(PathBytes)
    /// A member that cannot be made; nothing is under its name, where it has one.
    case failed(RelativePath?, BatchError)
    /// So many members that cannot be made, for one reason that is reported once; nothing is under their names.
    case lost([RelativePath], count: Int, BatchError)
    /// A member in a folder that was refused and named before: it counts as failed.
    case belowRefused
    /// A member of which nothing is made or reported.
    case skipped(SkipReason)
    case begin(ExtractionOrder)
    case piece([UInt8], offset: UInt64)
    case end(BatchError?)
    /// Bytes of content that were read for the rows before.
    case bytes(Int)
    case note(Extraction.Note)
  }

  var rows: [Row] = []

  package init() {}

  package var count: Int { rows.count }

  package func part(_ range: Range<Int>) -> ExtractedChunk {
    var part = self
    part.rows = Array(rows[range])
    return part
  }
}

/// What is there of a member whose name an earlier member had, until all members before it are there.
enum WaitingContent: Sendable {
  case bytes([UInt8])
  case file(StagedFile)
  /// The member is damaged, and has been reported: nothing stays under its name.
  case lost
}

/// A new file that has its name; it is removed when it turns out to lie behind the end of the extraction.
struct MadeFile: Sendable {
  let path: PathBytes
  let place: RelativePath
  let size: UInt64
  let modified: FileStatus.Time
  let losses: EntryMetadata.Losses

  init(_ order: ExtractionOrder, losses: EntryMetadata.Losses) {
    path = order.entry.path
    place = order.place
    size = order.entry.size
    modified = order.entry.modified
    self.losses = losses
  }

  /// Whether an inode can be this file, and none that another process put in its place.
  func isPossibly(_ status: FileStatus) -> Bool {
    status.kind == .regular && status.linkCount == 1 && UInt64(clamping: status.size) == size
      && (status.modified == modified || losses.contains(.time) || losses.contains(.timeRange))
  }
}

extension ExtractionItem: FileItem {
  package var path: PathBytes? {
    switch step {
    case .member(let order, _), .begin(let order), .lost(let order, _): order.entry.path
    case .segment(let plan): plan.archive.file.path
    case .piece, .end, .problem, .belowRefused, .passed, .note: nil
    }
  }
}
