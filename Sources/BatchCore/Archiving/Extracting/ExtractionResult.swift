import BatchEngine

/// What became of one member.
enum ExtractionResult: Sendable {
  case made(EntryMetadata.Losses)
  case deferred(DeferredStep, EntryMetadata.Losses = [])
  /// What is there has the same time or a later one, or is equal.
  case kept
  /// A later member has its name, and nothing was made of this one.
  case superseded
  case failed(BatchError)
}

/// The report of one member, made in the order of the archive.
package struct ExtractionReport: Sendable {
  package enum Outcome: String, Sendable {
    case extracted, kept, superseded
    /// What is there is equal.
    case upToDate = "up_to_date"
  }

  /// As it stands in the archive.
  package let path: PathBytes
  package let kind: ArchiveEntry.Kind
  /// Of the content, in bytes.
  package let size: UInt64
  package let outcome: Outcome
  /// Whether a dry run finds the member there already. A file would be replaced, a folder would be used.
  package let existed: Bool
  /// Where it goes; nil where that is what the selection says of its path.
  package let place: RelativePath?

  init(_ order: ExtractionOrder, _ outcome: Outcome, existed: Bool = false) {
    let entry = order.entry
    self.init(
      path: entry.path, kind: entry.kind, size: entry.size, outcome: outcome, existed: existed,
      place: order.place)
  }

  init(
    path: PathBytes, kind: ArchiveEntry.Kind = .file, size: UInt64 = 0, outcome: Outcome,
    existed: Bool = false, place: RelativePath? = nil
  ) {
    self.path = path
    self.kind = kind
    self.size = size
    self.outcome = outcome
    self.existed = existed
    self.place = place
  }
}
