import BatchEngine

/// A file whose content arrives piece by piece.
struct GrowingFile: ~Copyable {
  /// Nil in a dry run, which writes nothing.
  private(set) var file: TemporaryFile?
  let path: ArraySlice<UInt8>
  let content: ContentDigest?
  private(set) var end: UInt64 = 0

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    try content?.add(bytes, at: offset)
    try file?.write(bytes, at: offset)
    end = offset + UInt64(bytes.count)
  }

  /// - Returns: nil in a dry run.
  mutating func take() -> TemporaryFile? { file.take() }
}
