import BatchEngine

/// An item of a list of manifests, in the order of their lines.
package enum CheckItem: Sendable {
  /// The file of an entry, which was found.
  case file(ManifestEntry, FileRecord)
  /// An entry for `-`, which is standard input.
  case standardInput(ManifestEntry)
  /// The file of an entry, which cannot be examined.
  case unavailable(ManifestEntry, BatchError)
  case malformed(BatchError)
  /// A line that is not a row.
  case text(BatchError)
  /// A manifest that could not be opened or read to its end, or has no rows.
  case unreadable(Problem)
}

extension CheckItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .file(let entry, _), .standardInput(let entry): entry.path
    case .unavailable, .malformed, .text, .unreadable: nil
    }
  }
}
