import BatchEngine

/// What a list of manifests yields, in the order of their lines.
package enum CheckItem: Sendable {
  /// A file that an entry names, found.
  case file(ManifestEntry, FileRecord)
  /// An entry for `-`, which is standard input.
  case standardInput(ManifestEntry)
  /// A file that an entry names and that cannot be looked at.
  case unavailable(ManifestEntry, BatchError)
  /// A row that is not valid.
  case malformed(BatchError)
  /// A line that is no row.
  case text(BatchError)
  /// A manifest that could not be opened or read to its end.
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
