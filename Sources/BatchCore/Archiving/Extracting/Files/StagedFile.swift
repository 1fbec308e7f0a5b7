import BatchEngine

/// A file that was unpacked and closed. It has a temporary name until all members before it are known to be whole.
struct StagedFile: Sendable {
  let name: TemporaryName
  /// The folder below the target that it lies in.
  let folder: ArraySlice<UInt8>
  let losses: EntryMetadata.Losses
}
