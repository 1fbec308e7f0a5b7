import BatchEngine

/// Where the output of a source goes and whether it is written. Decided once for each source, before it is read: by the
/// source of the run for a large file, by the lane for any other.
package struct OutputPlan {
  package let target: PathBytes
  package let decision: OutputDecision
  package let place: OutputPlace

  /// Goes to the folder of a source and looks for its output.
  ///
  /// - Parameters:
  ///   - last: the place of the source before; of this one afterwards.
  ///   - looksInside: whether an older file is opened that would be replaced. The source does not open it: the lane decides
  ///     again.
  /// - Throws: `vanished` or `changed` where the folder is not there any more, with the source's path.
  package init(
    for record: FileRecord, target: PathBytes, _ options: OutputOptions, _ folders: OutputFolders,
    after last: inout OutputPlace?, looksInside: Bool = true
  ) throws(BatchError) {
    self.target = target
    place = try folders.place(of: record, after: &last)
    // In a mirrored folder that is not there yet there is nothing.
    decision =
      if let folder = place.target {
        OutputDecision.of(
          target, for: record, options, in: folder, looksInside: looksInside, calls: folders.calls)
      } else {
        .write(isReplacing: false)
      }
  }

  /// The same on a lane, which then reads the source through the folder that was opened.
  ///
  /// - Returns: nil where the folder is not there any more, which has been reported.
  package init?(
    for record: FileRecord, target: PathBytes, _ outputs: RunOutputs, after last: inout OutputPlace?,
    in context: WorkerContext
  ) {
    do throws(BatchError) {
      // Only the place stays open: the path to the next one may begin there.
      if last?.holds(record) != true { context.closeFolder() }
      try self.init(for: record, target: target, outputs.options, outputs.folders, after: &last)
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
