import BatchEngine

/// What a lane finds out about the output of one source before it reads the source.
struct OutputLook {
  /// Nil when the source's name has no output.
  let target: PathBytes?
  let decision: OutputDecision
  let place: OutputPlace

  /// Goes to the folder of a source, has the source read through it, and looks for its output.
  ///
  /// - Parameter place: of the source before; of this one afterwards.
  /// - Returns: nil where the folder is not there any more, which has been reported.
  init?(
    at record: FileRecord, _ options: TransformOptions, _ folders: OutputFolders, _ place: inout OutputPlace?,
    _ context: ChunkContext
  ) {
    do throws(BatchError) {
      // What stays open of it is the place, from which the way to the next one may begin.
      if place?.holds(record) != true { context.closeFolder() }
      let found = try folders.place(of: record, after: &place)
      context.useFolder(found.source.raw, for: record.directory, of: found.source)
      self.place = found
    } catch {
      if error.code == .changed {
        context.fail(Problem(.changed, error))
      } else {
        context.report(Problem(error))
      }
      return nil
    }
    target = options.naming.target(of: record.path)
    decision =
      if let folder = self.place.target {
        OutputDecision.of(target ?? record.path, for: record, options, in: folder)
      } else {
        .write(isReplacing: false)
      }
  }
}
