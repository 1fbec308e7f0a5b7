import BatchEngine

/// What a manifest claims about one file.
package struct ManifestEntry: Sendable, Hashable {
  package var path: PathBytes
  /// One or more.
  package var digests: [Digest]
  /// In bytes, if the format stores it.
  package var size: UInt64?
  package var modified: ManifestTime?
  /// The number of the line that the entry begins in, from 1.
  package var line = 0
  /// Whether the length of the digest alone chose its algorithm, and fits others too:
  /// ``DigestAlgorithm/candidates(hexLength:)``, ``Digest/reinterpreted(as:)``.
  package var isAlgorithmGuessed = false
}

/// One finding of a ``ManifestReader``.
package enum ManifestItem: Sendable, Hashable {
  case entry(ManifestEntry)
  /// A row that is not valid: the number of its line from 1, and what is wrong; the reason is safe to print.
  case malformed(line: Int, reason: String)
  /// A line that is no row: text before the first row, a heading, the armour of a signed file.
  case text(line: Int, reason: String)
}
