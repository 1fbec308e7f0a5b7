import BatchEngine

/// What the lanes and the collector of a run that writes one output for each source use together: the folders, and the
/// committer that gives outputs their names.
final class TransformOutputs: Sendable {
  let options: TransformOptions
  let folders: OutputFolders
  let committer: OutputCommitter

  private init(_ options: TransformOptions, _ opener: FolderOpener, _ commits: any CommitCalls) {
    self.options = options
    folders = OutputFolders(
      mirroredInto: options.naming.directory, isSynced: options.isSynced, kept: options.keptFolders,
      opener: opener, commits: commits)
    committer = OutputCommitter(
      limit: options.staged, isSynced: options.isSynced, devices: folders.devices, calls: commits)
  }

  /// Those of a run.
  static func of(
    _ services: RunServices, _ opener: FolderOpener, _ options: TransformOptions, _ commits: any CommitCalls
  ) -> TransformOutputs {
    services.service { TransformOutputs(options, opener, commits) }
  }
}
