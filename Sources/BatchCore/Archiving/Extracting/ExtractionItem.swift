import BatchEngine

/// What a worker extracts: a member with its content, or a segment of an archive that has an index.
package struct ExtractionItem: Sendable {
  enum Step: Sendable {
    /// A member with its whole content, or without content.
    case member(ExtractionOrder, [UInt8])
    /// A member whose content cannot be read.
    case lost(ExtractionOrder, BatchError)
    /// Members of an archive that has an index.
    case segment(SegmentPlan)
    /// A file whose content is in several members.
    case joined(JoinedFile)
  }

  let step: Step
}

/// What a reader knows without a worker.
package struct ExtractionRow: Sendable {
  let row: ExtractedChunk.Row
}

/// One step of an extraction, as a reader yields it.
typealias ExtractionStep = Yielded<ExtractionItem, ExtractionRow>

extension ExtractionStep {
  static func member(_ order: ExtractionOrder, _ content: [UInt8]) -> ExtractionStep {
    .item(ExtractionItem(step: .member(order, content)))
  }

  /// An entry that is not a valid member, or cannot be read.
  static func failed(_ error: BatchError) -> ExtractionStep {
    .row(ExtractionRow(row: .failed(nil, error)))
  }

  static func note(_ note: Extraction.Note) -> ExtractionStep { .row(ExtractionRow(row: .note(note))) }
}

/// The results of one chunk of an extraction.
package struct ExtractedChunk: ChunkOutput, Sendable {
  enum Row: Sendable {
    /// A file that has its content and final name.
    case made(MadeFile)
    /// A file that has its content but not its final name.
    case file(ExtractionOrder, StagedFile)
    case deferred(DeferredStep)
    /// A member that is created after all members before it.
    case waiting(ExtractionOrder, WaitingContent)
    /// The existing file is as new as the member.
    case kept(ExtractionOrder)
    /// A later member has the name.
    case superseded(PathBytes)
    /// A member that cannot be created; no file has its name, if it has one.
    case failed(RelativePath?, BatchError)
    /// Several members that cannot be created, for one reason that is reported once; no file has their names.
    case lost([RelativePath], count: Int, BatchError)
    /// A member in a folder that was already refused and reported: it counts as failed.
    case belowRefused
    /// A member that is neither created nor reported.
    case skipped(SkipReason)
    /// The start of a large file; its pieces follow, then its end.
    case begin(ExtractionOrder)
    case piece([UInt8], offset: UInt64)
    /// The end of a large file, with the error of reading it.
    case end(BatchError?)
    /// Bytes of content that a worker has read for the preceding rows.
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

/// The content of a member whose name an earlier member had, until all members before it are created.
enum WaitingContent: Sendable {
  case bytes([UInt8])
  case file(StagedFile)
  /// The member is damaged and was reported: no file keeps its name.
  case lost
}

/// A new file that has its final name; it is removed if the extraction turns out to end before it.
struct MadeFile: Sendable {
  let path: PathBytes
  let place: RelativePath
  let size: UInt64
  let modified: FileStatus.Time
  let mayShare: Bool
  let losses: EntryMetadata.Losses

  init(_ order: ExtractionOrder, losses: EntryMetadata.Losses) {
    path = order.entry.path
    place = order.place
    size = order.entry.size
    mayShare = order.entry.mayShare
    modified = order.entry.modified
    self.losses = losses
  }

  /// Whether a status can be that of this file, and not of one that another process put in its place.
  func isPossibly(_ status: FileStatus) -> Bool {
    status.kind == .regular && status.linkCount == 1 && UInt64(clamping: status.size) == size
      && (status.modified == modified || losses.contains(.time)
        || !losses.isDisjoint(with: [.timeRange, .timeLimit]))
  }
}

extension ExtractionItem: FileItem {
  package var path: PathBytes? {
    switch step {
    case .member(let order, _), .lost(let order, _): order.entry.path
    case .segment(let plan): plan.archive.file.path
    case .joined(let file): file.entry.path
    }
  }
}
