import BatchEngine

/// The bytes of an archive on their way to a reader, without compression where that was recognised.
protocol ArchiveContent: AnyObject {
  /// The size of what can be read at any place; nil where it can only be read from beginning to end.
  var length: UInt64? { get }

  /// How many bytes were read from the file so far, as it lies on the disk.
  var bytesRead: UInt64 { get }

  /// The next bytes, none at the end; valid until the next call.
  ///
  /// - Throws: `malformed` for what cannot be decoded, and the error of reading.
  func next() throws(BatchError) -> UnsafeRawBufferPointer

  /// Goes on elsewhere, where there is a ``length``.
  func seek(to offset: UInt64)

  /// Whether something follows that is not content and was passed over.
  var hasGarbage: Bool { get }

  /// The file that holds the content as it is, without compression; nil for everything else.
  var file: ArchiveFile? { get }
}

extension ArchiveContent {
  var file: ArchiveFile? { nil }
  var hasGarbage: Bool { false }
}
