import BatchEngine

/// Where the output of one file goes and whether it is written. Decided once for each file, by a lane, before it is read.
package struct OutputPlan {
  package let target: PathBytes
  package let decision: OutputDecision
  package let place: OutputPlace

  /// Opens the folder of a source and looks up its output.
  ///
  /// - Parameters:
  ///   - decided: the decision, if it was made before.
  ///   - last: the place of the previous source; afterwards the place of this one.
  /// - Throws: `vanished` or `changed` if the folder is gone or replaced, with the source's path.
  package init(
    for record: FileRecord, target: PathBytes, decided: OutputDecision? = nil, _ options: OutputOptions,
    _ folders: OutputFolders, after last: inout OutputPlace?
  ) throws(BatchError) {
    self.target = target
    place = try folders.place(of: record, after: &last)
    // A mirrored folder that does not exist yet contains no output.
    decision =
      if let decided {
        decided
      } else if let folder = place.target {
        OutputDecision.of(
          target, for: record, options, in: folder, calls: folders.calls)
      } else {
        .write(isReplacing: false)
      }
  }

  /// The plan of a lane, which opens the folder of the source first, and reads the source through it.
  ///
  /// - Parameter decision: made before; nil looks up the output.
  /// - Returns: nil if the folder is gone or replaced, which has been reported.
  package init?(
    for record: FileRecord, target: PathBytes, decided decision: OutputDecision? = nil,
    _ outputs: OutputStage, after last: inout OutputPlace?, in context: WorkerContext
  ) {
    do throws(BatchError) {
      // Keeps only the place open: the path to the next folder may begin there.
      if last?.holds(record) != true { context.closeFolder() }
      try self.init(
        for: record, target: target, decided: decision, outputs.options, outputs.folders, after: &last)
      context.useFolder(place.source.raw, for: record.directory, of: place.source)
    } catch {
      if error.code == .changed {
        context.fail(Problem(.changed, error))
      } else {
        context.report(Problem(error))
      }
      return nil
    }
  }
}
