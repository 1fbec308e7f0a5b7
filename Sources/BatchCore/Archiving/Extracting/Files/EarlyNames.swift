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
    _ file: StagedFile, as order: ExtractionOrder, on lane: MemberWriter
  ) throws(BatchError) -> ExtractionResult {
    try lane.publish(file, as: order, by: right)
  }
}
