import BatchEngine

/// Gives new files of an extraction their names before the collector decides about them: a temporary name and a rename take a
/// fifth more processor time.
///
/// The collector removes such files again if they come after damage. In the results of workers they are called undoable. After
/// a `kill -9` they keep their names, and each is complete.
struct EarlyNames {
  private let right = CommitRight.earlyName

  /// Links a complete file that has no name.
  ///
  /// - Returns: 0 or the error number.
  func link(_ file: inout TemporaryFile, as name: PathBytes) throws(BatchError) -> Int32 {
    try file.link(as: name, by: right)
  }

  /// Renames a complete file with a temporary name. Only if damage elsewhere does not end the extraction.
  func publish(
    _ file: StagedFile, as order: ExtractionOrder, by writer: MemberWriter
  ) throws(BatchError) -> ExtractionResult {
    try writer.publish(file, as: order, by: right)
  }
}

/// A file that was extracted and closed. It has a temporary name until all members before it are known to be undamaged.
struct StagedFile: Sendable {
  let name: TemporaryName
  /// Its folder, relative to the target.
  let folder: ArraySlice<UInt8>
  let losses: EntryMetadata.Losses
}

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
