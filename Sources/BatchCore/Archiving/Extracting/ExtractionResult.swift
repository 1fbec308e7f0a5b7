import BatchEngine

/// The result of one member.
enum ExtractionResult: Sendable {
  case made(EntryMetadata.Losses)
  case deferred(DeferredStep, EntryMetadata.Losses = [])
  /// The existing file has the same time or a later one, or is equal.
  case kept
  /// A later member has its name, so this one was not created.
  case superseded
  case failed(BatchError)

  /// The result of `body`, or its error for a member.
  init(of order: ExtractionOrder, _ body: () throws(BatchError) -> ExtractionResult) {
    do throws(BatchError) {
      self = try body()
    } catch {
      self = .failed(error.at(order.entry.path))
    }
  }
}

/// The report of one member, made in the order of the archive.
package struct ExtractionReport: Sendable {
  package enum Outcome: String, Sendable {
    case extracted, kept, superseded
    /// The existing file is equal.
    case upToDate = "up_to_date"
    /// Something that was in the target, and that the snapshot does not have.
    case removed
  }

  /// The path in the archive.
  package let path: PathBytes
  package internal(set) var kind = ArchiveEntry.Kind.file
  /// The size of the content in bytes.
  package internal(set) var size: UInt64 = 0
  package let outcome: Outcome
  /// Whether a dry run finds an existing file, which would be replaced, or a folder, which would be used.
  package internal(set) var existed = false
  /// Where the member goes; nil if the selection determines that from its path.
  package internal(set) var place: RelativePath?
}

extension ExtractionReport {
  init(_ order: ExtractionOrder, _ outcome: Outcome, existed: Bool = false) {
    let entry = order.entry
    self.init(
      path: entry.path, kind: entry.kind, size: entry.size, outcome: outcome, existed: existed,
      place: order.place)
  }
}
