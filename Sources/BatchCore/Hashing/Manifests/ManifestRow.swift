import BatchEngine

/// The row of a manifest for one file.
package struct ManifestRow: Sendable {
  package let path: PathBytes
  /// The digests, in the order of the requested algorithms.
  package let digests: [Digest]
  /// The number of bytes that were hashed.
  package let size: UInt64
  /// nil for a stream.
  package let modified: FileStatus.Time?

  package init(path: PathBytes, digests: [Digest], size: UInt64, modified: FileStatus.Time?) {
    self.path = path
    self.digests = digests
    self.size = size
    self.modified = modified
  }
}
