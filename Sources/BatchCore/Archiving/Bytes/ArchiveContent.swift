import BatchEngine

/// The bytes of an archive for a reader, decompressed if the compression was recognized.
protocol ArchiveContent: AnyObject {
  /// The size, if any part can be read; nil if the content can only be read from beginning to end.
  var length: UInt64? { get }

  /// How many bytes of the file on disk were read so far.
  var bytesRead: UInt64 { get }

  /// The next bytes, empty at the end; valid until the next call.
  ///
  /// - Throws: `malformed` if the content cannot be decoded, and the error of reading.
  func next() throws(BatchError) -> UnsafeRawBufferPointer

  /// Continues at an offset; only if there is a ``length``.
  func seek(to offset: UInt64)

  /// Whether bytes that are not content follow and were skipped.
  var garbage: TrailingGarbage? { get }

  /// The file, if its content is not compressed; otherwise nil.
  var file: ArchiveFile? { get }

  /// What is needed to compare a stream without compression, and so without checksums, with its index; otherwise nil.
  var streamCheck: StreamCheck? { get }
}

/// The checksum of a stream.
struct StreamCheck {
  /// The CRC-32 of the bytes so far.
  var value: UInt32
  /// The memory that the index may need, in bytes.
  let memory: Int
}

extension ArchiveContent {
  var file: ArchiveFile? { nil }
  var garbage: TrailingGarbage? { nil }
  var streamCheck: StreamCheck? { nil }
}

/// Content that is completely in memory; the bytes must stay valid as long as this object is used.
final class MemoryContent: ArchiveContent {
  let length: UInt64? = nil
  private(set) var bytesRead: UInt64 = 0
  private var rest: UnsafeRawBufferPointer

  init(_ bytes: UnsafeRawBufferPointer) {
    rest = bytes
  }

  func next() -> UnsafeRawBufferPointer {
    defer { rest = UnsafeRawBufferPointer(rebasing: rest[rest.endIndex...]) }
    bytesRead += UInt64(rest.count)
    return rest
  }

  func seek(to offset: UInt64) {}
}
