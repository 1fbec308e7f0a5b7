import BatchEngine

/// The row of a manifest for one file.
public struct ManifestRow: Sendable {
  public let path: PathBytes
  /// The digests, in the order of the requested algorithms.
  public let digests: [Digest]
  /// The number of bytes that were hashed.
  public let size: UInt64
  /// nil for a stream.
  public let modified: ManifestTime?

  public init(path: PathBytes, digests: [Digest], size: UInt64, modified: ManifestTime?) {
    self.path = path
    self.digests = digests
    self.size = size
    self.modified = modified
  }
}
