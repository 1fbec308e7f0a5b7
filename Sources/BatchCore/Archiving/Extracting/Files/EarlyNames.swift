import BatchEngine

/// Gives new files of an extraction their names before the collector decides about them: a temporary name and a rename take a
/// fifth more processor time.
///
/// The collector makes it, and removes such files again where they lie behind damage. What workers return of them is called
/// undoable. After a `kill -9` they stay under their names, each of them complete.
final class EarlyNames: Sendable {
  private let right: CommitRight

  init(by right: CommitRight) {
    self.right = right
  }

  /// Links a complete file that has no name.
  ///
  /// - Returns: 0 or the error number.
  func link(_ file: inout TemporaryFile, as name: PathBytes) throws(BatchError) -> Int32 {
    try file.link(as: name, by: right)
  }

  /// Names a complete file that has a temporary name, where damage behind or before it does not end the extraction.
  func publish(
    _ file: StagedFile, as order: ExtractionOrder, on lane: MemberWriter
  ) throws(BatchError) -> ExtractionResult {
    try lane.publish(file, as: order, by: right)
  }
}
