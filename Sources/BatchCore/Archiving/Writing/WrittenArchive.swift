import BatchEngine

/// What was written into an archive, for the comparison with what can be read back.
package struct WrittenArchive: Sendable {
  /// Bytes that no checksum of the format covers, up to the end of the archive.
  struct Stretch: Sendable {
    let bytes: Range<UInt64>
    let digest: Digest
  }

  let format: ArchiveFormat
  /// The members in the order in which they were written, never read from the archive itself.
  ///
  /// For a container without segments, one frame represents the whole archive, and the offsets are the numbers of members.
  let index: MemberIndex
  /// The digest of each frame's decoded content; empty for a container without segments.
  let contents: [Digest?]
  /// The index after compressed frames; the whole archive if its frames have no checksums.
  let stretch: Stretch
}
