import BatchEngine

/// Reads the members of an archive one after the other, in this process or in another one. One thread at a time uses it.
protocol MemberReader: AnyObject {
  /// Remarks that do not prevent reading a member, each once; complete after ``drain()``.
  var remarks: [String] { get }
  /// The name of the format for messages, known after ``drain()``.
  var formatName: String { get }
  /// What the checksums of the compression cover; nil if not compressed.
  var compressionFact: String? { get }
  /// A sentence: what was compared besides these, known after ``drain()``.
  var checksFact: String { get }

  /// The next member; nil after the last one, when the archive ends as its format demands.
  ///
  /// - Throws: `malformed` where the archive cannot be read further.
  func next() throws(BatchError) -> ArchiveReader.Member?

  /// The next piece of the content of the last member, with its offset; nil at the end. Valid until the next call.
  ///
  /// - Throws: `malformed` when the content cannot be read, and `exhausted` at a limit.
  func nextPiece() throws(BatchError) -> (bytes: UnsafeRawBufferPointer, offset: UInt64)?

  /// Reads the bytes after the archive, so that every checksum of the compression is compared. A remark names data that was not
  /// read.
  ///
  /// - Throws: `malformed` if bytes cannot be decoded, or if an archive has no members but must have some.
  func drain() throws(BatchError)

  /// - Parameter folders: the size that counts for the folders needed so far, in bytes.
  /// - Throws: `exhausted` at a limit.
  func count(folders: UInt64) throws(BatchError)

  /// Whether a member has an owner; in formats without owners all files would belong to root.
  func tellsOwner(of entry: ArchiveEntry) -> Bool
}

extension MemberReader {
  /// Passes the content of the last member to `body`: pieces in order with their offsets. Gaps are holes.
  ///
  /// - Throws: the errors of ``nextPiece()`` and `body`.
  func readContent(
    _ body: (UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void
  ) throws(BatchError) {
    while let (piece, offset) = try nextPiece() { try body(piece, offset) }
  }
}
