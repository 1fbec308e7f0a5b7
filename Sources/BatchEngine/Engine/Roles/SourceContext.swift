/// What a source may do in a run: walk, examine the entries of folders, and read the lists that name its items.
///
/// It cannot read, decode, name or remove files.
package struct SourceContext: Sendable {
  let run: RunContext

  package init(_ run: RunContext) {
    self.run = run
  }

  package var options: BatchOptions { run.options }
  package var cancellation: Cancellation { run.cancellation }
  package var calls: any FileSystemCalls { run.calls }
  package var folders: FolderOpener { run.folders }
  /// The cancellation check for code that reads on a lane or in a reader.
  package var laneProbe: LaneProbe { LaneProbe(run.cancellation) }

  /// The files below some operands, as ``RunContext/tree(_:options:)``.
  package func tree(_ operands: some Sequence<PathBytes>, options walk: WalkOptions) -> TreeSource {
    run.tree(operands, options: walk)
  }
}
