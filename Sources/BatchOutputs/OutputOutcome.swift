import BatchEngine

/// The result of one source.
package enum OutputOutcome: Sendable, Hashable {
  case written(target: PathBytes, plainSize: Int64, compressedSize: Int64)
  case upToDate
  /// Its first bytes show a compressed format.
  case compressedAlready
  /// The output would not have been smaller.
  case notSmaller
  case linked(target: PathBytes)
  /// Copied uncompressed, because no compressed output was made.
  case copied(target: PathBytes, size: Int64)
  /// A dry run found that an output would be written; the size of the source, or 0 for a further name.
  case planned(target: PathBytes, size: Int64)

  var isCopy: Bool { if case .copied = self { true } else { false } }

  /// The reason under which a source without its own output counts as skipped.
  package var skipReason: SkipReason {
    switch self {
    case .upToDate: .upToDate
    case .compressedAlready: .compressedAlready
    case .notSmaller: .notSmaller
    case .written, .linked, .copied, .planned: .withoutFirst
    }
  }
}

/// The report of one source, made in tree order when its output is committed.
package protocol OutputReport: Sendable {
  var outcome: OutputOutcome { get }

  init(source: PathBytes, outcome: OutputOutcome)
}
