/// What became of one member.
enum ExtractionVerdict: Sendable {
  case made(EntryMetadata.Losses)
  case deferred(DeferredStep, EntryMetadata.Losses = [])
  /// What is there has the same time or a later one.
  case kept
  case failed(BatchError)
}

/// What a run tells about a member, in the order of the archive.
public struct ExtractionReport: Sendable {
  public enum Outcome: String, Sendable {
    case extracted, kept
  }

  /// As it stands in the archive.
  public let path: PathBytes
  public let outcome: Outcome
}
