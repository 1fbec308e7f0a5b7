import BatchEngine

/// A snapshot whose manifest exists.
package struct Snapshot: Sendable, Hashable {
  /// The name of the manifest's file.
  package let name: SnapshotName
  package let header: SnapshotHeader
  package let footer: SnapshotFooter
  /// The companion of an encrypted snapshot; until the manifest is decrypted, header and footer contain only its facts.
  package var companion: Companion?

  /// Whether all its facts come from its manifest, and none from the companion alone.
  package var isOpened: Bool { companion == nil || footer.rows > 0 }

  /// The archives that it needs, and its own one.
  package var archives: [SnapshotName] {
    // Encrypted and unencrypted snapshots never need archives of each other.
    Set(footer.needs.keys).union([name.stamp]).sorted().map { stamp in
      SnapshotName(set: name.set, stamp: stamp, isEncrypted: name.isEncrypted)
    }
  }
}
