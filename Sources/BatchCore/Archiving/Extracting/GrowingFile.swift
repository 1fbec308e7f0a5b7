import BatchEngine

/// A file whose content comes piece by piece, with the folder that it lies in.
struct GrowingFile: ~Copyable {
  let file: ExtractedFile
  /// Nil in a dry run.
  private let folder: Descriptor?
  let path: ArraySlice<UInt8>
  let content: ExpectedContent?
  private(set) var end: UInt64 = 0

  init(
    file: consuming ExtractedFile, folder: consuming Descriptor?, path: ArraySlice<UInt8>,
    content: ExpectedContent?
  ) {
    self.file = file
    self.folder = folder
    self.path = path
    self.content = content
  }

  consuming func stage(losses: EntryMetadata.Losses) throws(BatchError) -> StagedFile {
    try file.stage(in: path, losses: losses)
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    try content?.add(bytes, at: offset)
    try file.write(bytes, at: offset)
    end = offset + UInt64(bytes.count)
  }
}

/// The digest of a content that is written, held against the one that it has to have.
final class ExpectedContent {
  private let expected: Digest
  private let content: ContentDigest

  init(_ expected: Digest, _ stream: DigestStream, _ cancellation: Cancellation) {
    self.expected = expected
    content = ContentDigest(stream, cancellation: cancellation)
  }

  func add(_ piece: UnsafeRawBufferPointer, at offset: UInt64) throws(BatchError) {
    try content.add(piece, at: offset)
  }

  /// - Throws: `malformed` when it is another one.
  func check(size: UInt64) throws(BatchError) {
    guard try content.finish(size: size) == expected else {
      throw BatchError(.malformed, "not restored: its SHA-256 is not the one that the manifest has")
    }
  }
}
