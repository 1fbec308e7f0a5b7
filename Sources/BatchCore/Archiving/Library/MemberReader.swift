import BatchEngine

/// Reads the members of an archive one after the other, in this process or in another one. One thread at a time uses it.
protocol MemberReader: AnyObject {
  /// Remarks that do not keep a member from being read, each once; complete after ``drain()``.
  var remarks: [String] { get }
  /// For people, known after ``drain()``.
  var formatName: String { get }
  /// What the checks of the compression compare; nil for what is not compressed.
  var compressionFact: String? { get }
  /// What was compared beside that, known after ``drain()``; a sentence.
  var checksFact: String { get }

  /// The next member; nil after the last one, when the archive ends as its format demands.
  ///
  /// - Throws: `malformed` where the archive cannot be read further.
  func next() throws(BatchError) -> ArchiveReader.Member?

  /// The next piece of the content of the last member, with its place; nil at the end. Valid until the next call.
  ///
  /// - Throws: `malformed` when the content cannot be read, and `exhausted` at a limit.
  func nextPiece() throws(BatchError) -> (bytes: UnsafeRawBufferPointer, offset: UInt64)?

  /// Reads what follows the archive, so that every checksum of the compression is compared, and a remark names what was not
  /// read.
  ///
  /// - Throws: `malformed` for what cannot be decoded, and for an archive without members that must have some.
  func drain() throws(BatchError)

  /// - Parameter folders: what the folders count that are needed so far, in bytes.
  /// - Throws: `exhausted` at a limit.
  func count(folders: UInt64) throws(BatchError)

  /// Whether members have owners; formats that keep none give all files to root.
  func tellsOwner(of entry: ArchiveEntry) -> Bool
}

extension MemberReader {
  /// Hands out the content of the last member: pieces in order, with their places; what lies between is holes.
  ///
  /// - Throws: what ``nextPiece()`` and `body` throw.
  func readContent(
    _ body: (UnsafeRawBufferPointer, UInt64) throws(BatchError) -> Void
  ) throws(BatchError) {
    while let (piece, offset) = try nextPiece() { try body(piece, offset) }
  }
}
