import BatchEngine

/// A file whose content arrives piece by piece.
struct GrowingFile: ~Copyable {
  /// Nil in a dry run, which writes nothing.
  private(set) var file: TemporaryFile?
  let path: ArraySlice<UInt8>
  let content: ExpectedContent?
  private(set) var end: UInt64 = 0

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    try content?.add(bytes, at: offset)
    try file?.write(bytes, at: offset)
    end = offset + UInt64(bytes.count)
  }

  /// - Returns: nil in a dry run.
  mutating func take() -> TemporaryFile? { file.take() }
}

/// Computes the digest of content that is written, and compares it with the expected one.
final class ExpectedContent {
  private let expected: Digest
  private let content: ContentDigest

  init(
    _ expected: Digest, _ stream: DigestStream, ahead: DigestsAhead?, _ cancellation: Cancellation
  ) {
    self.expected = expected
    content = ContentDigest(stream, ahead: ahead, cancellation: cancellation)
  }

  func add(_ piece: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    try content.add(piece, at: offset)
  }

  /// - Throws: `malformed` when the digest differs.
  func check(size: UInt64) throws(BatchError) {
    guard try content.finish(size: size) == expected else {
      throw BatchError(.malformed, "not restored: its SHA-256 is not the one that the manifest has")
    }
  }
}
