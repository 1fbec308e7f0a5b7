import BatchEngine

/// A file that was extracted and closed. It has a temporary name until all members before it are known to be undamaged.
struct StagedFile: Sendable {
  let name: TemporaryName
  /// Its folder, relative to the target.
  let folder: ArraySlice<UInt8>
  let losses: EntryMetadata.Losses
}
