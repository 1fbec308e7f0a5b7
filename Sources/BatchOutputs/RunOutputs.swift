import BatchEngine

/// Objects that the lanes and the collector share in a run that writes one output for each source: the folders and the staging
/// area.
package final class RunOutputs: Sendable {
  package let options: OutputOptions
  package let folders: OutputFolders
  package let stage: OutputStage

  private init(
    _ options: OutputOptions, _ opener: FolderOpener, _ commits: any CommitCalls,
    _ cancellation: Cancellation
  ) {
    self.options = options
    folders = OutputFolders(
      mirroredInto: options.naming.directory, isSynced: options.isSynced, kept: options.keptFolders,
      opener: opener, commits: commits)
    stage = OutputStage(limit: options.staged, cancellation: cancellation)
  }

  /// The outputs of a run, for a lane.
  package static func of(
    _ context: WorkerContext, _ options: OutputOptions, _ commits: any CommitCalls
  ) -> RunOutputs {
    context.services.service {
      RunOutputs(options, context.folders, commits, context.cancellation)
    }
  }

  /// The same for the collector.
  package static func of(
    _ context: CollectorContext, _ options: OutputOptions, _ commits: any CommitCalls
  ) -> RunOutputs {
    context.services.service {
      RunOutputs(options, context.folders, commits, context.cancellation)
    }
  }
}
