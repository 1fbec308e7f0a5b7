import BatchEngine

/// The claims of a manifest about one file.
package struct ManifestEntry: Sendable, Hashable {
  package var path: PathBytes
  /// One or more.
  package var digests: [Digest]
  /// The size in bytes, if the format stores it.
  package var size: UInt64?
  package var modified: FileStatus.Time?
  /// The number of the line in which the entry begins, from 1.
  package var line = 0
  /// Whether the algorithm was chosen only by the length of the digest, which fits others too:
  /// ``DigestAlgorithm/candidates(hexLength:)``, ``Digest/reinterpreted(as:)``.
  package var isAlgorithmGuessed = false
}

/// One finding of a ``ManifestReader``.
package enum ManifestItem: Sendable, Hashable {
  case entry(ManifestEntry)
  /// An invalid row: the number of its line from 1, and the reason, which is safe to print.
  case malformed(line: Int, reason: String)
  /// A line that is not a row: text before the first row, a heading, the armor of a signed file.
  case text(line: Int, reason: String)
}

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

/// Why a line of a manifest is not valid; the reason contains no bytes of the line.
struct MalformedLine: Error {
  let reason: String

  init(_ reason: String) {
    self.reason = reason
  }
}
