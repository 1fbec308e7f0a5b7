import BatchEngine
import BatchOutputs

/// How a plan divides a job among shards, and how their results become the result of the job.
package struct Division: Sendable {
  package enum Unit: Sendable {
    /// - Parameter naming: the naming of the outputs, if several files can have one output; the first one in tree order gets it.
    case files(naming: OutputNaming? = nil)
    /// Files that get one output each. All names of a file belong to the shard of the first one.
    ///
    /// - Parameter naming: the naming of the outputs, if several files can have one output.
    case sources(naming: OutputNaming?)
    case members(ArchiveOptions)
    /// All entries of trees that are mirrored, with the sources in place of the operands.
    case entries(MirrorCall)
    /// The lines of manifests.
    case lines(CheckCall)
  }

  package enum Join: Sendable {
    /// Rows, after a header.
    case rows(header: [UInt8])
    /// Rows about what the shards did, written only on request.
    case receipts
    case archive(ArchiveOptions)
    case mirror(MirrorCall)
  }

  package let unit: Unit
  package let join: Join
  /// The output file or folder, which the walk leaves out.
  package var outputs: [PathBytes] = []
  /// The folder in which the paths begin, which the plan enters; nil for the current one.
  package var folder: PathBytes?
  /// Whether the walk leaves out temporary files of other runs.
  package var skipsTemporaries = false
  /// Whether a shard reports folders to which entries were added, or from which entries were removed. Outputs beside their
  /// sources change the times of folders.
  package var checksFolders = true
  /// Whether a plan takes one path only: a shard cannot see that sources of several paths have one output.
  package var takesOnePath = false

  /// The walk of a run on one machine.
  package func walk(_ given: WalkOptions) -> WalkOptions {
    var walk = given
    if skipsTemporaries { walk.skipsTemporaries = true }
    switch unit {
    case .members, .entries: walk.takesEverything = true
    case .files, .sources, .lines: break
    }
    walk.excluded.formUnion(outputs.compactMap(StandardStreams.identity))
    return walk
  }

  /// Adds everything that the job processes to a plan.
  ///
  /// - Throws: the reason when the run was stopped, or the error of writing.
  package func walk(
    _ operands: Operands, _ walk: WalkOptions, into maker: PlanMaker, in run: RunContext
  ) throws(BatchError) -> PlanTally {
    switch unit {
    case .files(let naming):
      try maker.walk(run.tree(operands.counted, options: walk), claiming: naming, run.cancellation)
    case .sources(let naming):
      try maker.walk(
        run.tree(operands.counted, options: walk), joiningNames: naming, run.cancellation)
    case .members(let options):
      try maker.walk(
        try ArchiveSource(run.tree(operands.counted, options: walk), options: options), run.cancellation)
    case .entries(let mirror): try maker.walk(mirror.source(walk, in: run), run.cancellation)
    case .lines(let check):
      try maker.walk(
        check.lines(operands.counted, in: run), check.source(walk, in: run) { nil }, run.cancellation)
    }
  }
}
