import BatchEngine

/// What an archive was made of, to hold against it what can be read of the result.
package struct WrittenArchive: Sendable {
  /// Bytes that no checksum of the format covers, up to the end of the archive.
  struct Stretch: Sendable {
    let bytes: Range<UInt64>
    let digest: Digest
  }

  let format: ArchiveFormat
  /// The members in the order in which they were written, never read from the archive itself.
  ///
  /// For a container of one piece its only frame stands for the whole archive, and the offsets count the members.
  let index: MemberIndex
  /// What each frame of the index decodes to; none for a container of one piece.
  let contents: [Digest?]
  /// The index behind compressed frames; all of an archive whose frames have no checksums.
  let stretch: Stretch
}
