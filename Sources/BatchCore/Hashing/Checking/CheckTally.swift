import BatchEngine

/// The number of manifest entries by result.
package struct CheckTally: Sendable, Hashable {
  package var matches = 0
  package var differs = 0
  package var missing = 0
  package var unreadable = 0
  /// Missing files that the options ignore.
  package var ignored = 0
  package var malformed = 0
  /// Lines that are not rows: comments and empty lines are not counted.
  package var text = 0
  /// Manifests that could not be opened or read to their end.
  package var unreadableManifests = 0
  /// Manifests without rows.
  package var malformedManifests = 0

  package init() {}

  /// Entries that named a file, found or not.
  package var entries: Int { matches + differs + missing + unreadable + ignored }
}

extension CheckTally {
  private static var names: [(name: String, path: WritableKeyPath<CheckTally, Int>)] {
    [
      ("matches", \.matches), ("differs", \.differs), ("missing", \.missing),
      ("unreadable", \.unreadable), ("ignored", \.ignored), ("malformed", \.malformed),
      ("text", \.text), ("unreadable_manifests", \.unreadableManifests),
      ("malformed_manifests", \.malformedManifests),
    ]
  }

  /// - Parameter findings: the counts of another tally's ``findings``.
  package init(_ findings: [String: Int]) {
    for (name, path) in Self.names { self[keyPath: path] = findings[name] ?? 0 }
  }

  package var findings: [String: Int] {
    Dictionary(uniqueKeysWithValues: Self.names.map { ($0.name, self[keyPath: $0.path]) })
  }
}
