import BatchEngine

/// What a lane needs to read segments, kept from one segment to the next.
final class SegmentResources {
  let loader: FrameLoader
  let digests: DigestStream
  let ahead: DigestsAhead
  /// Digests of whole frames of an archive that was just written.
  let contents: DigestStream

  init(_ archive: IndexedArchive, by right: ReadingRight) throws(BatchError) {
    loader = try FrameLoader(archive.file, archive.format, by: right)
    digests = try DigestStream(.sha256)
    ahead = try DigestsAhead()
    contents = try DigestStream(.xxh128)
  }
}
