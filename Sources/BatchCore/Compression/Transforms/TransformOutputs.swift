import BatchEngine

/// What the lanes and the collector of a run that writes one output for each source use together: the folders, and the
/// staging area.
final class TransformOutputs: Sendable {
  let options: TransformOptions
  let folders: OutputFolders
  let stage: OutputStage

  private init(
    _ options: TransformOptions, _ opener: FolderOpener, _ commits: any CommitCalls,
    _ cancellation: Cancellation
  ) {
    self.options = options
    folders = OutputFolders(
      mirroredInto: options.naming.directory, isSynced: options.isSynced, kept: options.keptFolders,
      opener: opener, commits: commits)
    stage = OutputStage(limit: options.staged, cancellation: cancellation)
  }

  /// Those of a run, for a lane.
  static func of(
    _ context: WorkerContext, _ options: TransformOptions, _ commits: any CommitCalls
  ) -> TransformOutputs {
    context.services.service {
      TransformOutputs(options, context.folders, commits, context.cancellation)
    }
  }

  /// The same for the collector.
  static func of(
    _ context: CollectorContext, _ options: TransformOptions, _ commits: any CommitCalls
  ) -> TransformOutputs {
    context.services.service {
      TransformOutputs(options, context.folders, commits, context.cancellation)
    }
  }
}
