import BatchEngine

/// What a manifest says about one file.
package struct ManifestRow: Sendable {
  package let path: PathBytes
  /// In the order in which the algorithms were asked for.
  package let digests: [Digest]
  /// The number of bytes that were hashed.
  package let size: UInt64
  /// nil for a stream.
  package let modified: ManifestTime?

  package init(path: PathBytes, digests: [Digest], size: UInt64, modified: ManifestTime?) {
    self.path = path
    self.digests = digests
    self.size = size
    self.modified = modified
  }
}
