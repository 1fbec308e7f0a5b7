/// What a source may do in a run: walk, look at what lies in folders, and read the lists that name its items.
///
/// It cannot read or decode the content of files, nor name or remove any.
package struct SourceContext: Sendable {
  let run: RunContext

  /// - Parameter run: that the source is for.
  package init(_ run: RunContext) {
    self.run = run
  }

  package var options: BatchOptions { run.options }

  package var cancellation: Cancellation { run.cancellation }

  /// For what is read in the run, by a lane or a reader.
  package var laneProbe: LaneProbe { LaneProbe(run.cancellation) }

  /// The system calls by which the run looks at files.
  package var calls: any FileSystemCalls { run.calls }

  /// Opens folders by these calls.
  package var folders: FolderOpener { run.folders }

  /// The files below some operands, as ``RunContext/tree(_:options:)``.
  package func tree(_ operands: some Sequence<PathBytes>, options walk: WalkOptions) -> TreeSource {
    run.tree(operands, options: walk)
  }
}
