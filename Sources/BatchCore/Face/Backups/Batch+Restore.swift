import BatchEngine
import BatchOutputs

extension Batch {
  /// Which files of a snapshot are restored, and how.
  public struct RestoreOptions: Sendable {
    public var settings = Settings()
    /// The name of the set; nil for the only one in the folder.
    public var setName: PathBytes?
    /// The snapshot: its id or the beginning of it (4 characters or more), `latest`, or a local time as for `restore --at`, which
    /// selects the newest snapshot that was not begun later. Nil for the newest one.
    public var snapshot: String?
    /// Selects only among the snapshots of the machine with this name; no effect on ids.
    public var host: String?
    /// Selects only among the snapshots with this source, an absolute path; no effect on ids.
    public var source: PathBytes?
    /// Names of the files and folders to restore, or patterns; the same as ``ExtractOptions/patterns``, with the paths of the
    /// sources without a leading slash.
    public var patterns: [PathBytes] = []
    /// How many leading names of each path are dropped, 0 or more.
    public var strippedNames = 0
    /// How they become files. Other than for an archive, privileges are restored, devices are made if the process belongs to the
    /// superuser, and the rest is restored if a part is damaged or missing.
    public var extraction = ExtractionOptions()
    /// Removes what the snapshot does not have, below its sources and ``patterns`` alone, when everything is restored. What the backup
    /// left out by its options stays, as do caches, other file systems and files of sets. Not with ``strippedNames``.
    public var removesOthers = false
    /// The most files that ``removesOthers`` may remove, 0 or more; nil allows half of the files below each source.
    public var mostRemoved: Int?
    /// How long to wait while another run removes archives; 0 refuses at once.
    public var longestWait = Duration.zero

    /// The defaults: all files of the newest snapshot; no existing file is replaced.
    public init() {
      extraction.restoreEverything()
    }
  }

  /// Restores files of a snapshot. Each file must have the SHA-256 that the snapshot records; others are not created.
  ///
  /// An existing file that equals that of the snapshot counts as up to date. Encrypted snapshots are not supported.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - folder: the local folder of the set.
  ///   - target: the target folder, created if it is missing. Nothing is created outside of it. The paths of the files begin there,
  ///     without a leading slash.
  ///   - options: which files are restored and how, and the resources that the call may use.
  ///   - progress: receives states without totals until the call returns.
  ///   - each: receives the selected files in the order of the archives, then links, and folders last; none that failed. One
  ///     call at a time, on a thread of the run. It may be slow, because the run waits for it when too many results are
  ///     pending; it must not wait for the end of the call.
  /// - Returns: the counts of the created files. Damaged and missing files are among the failures; damaged manifests of other
  ///   snapshots, and the reason why nothing was removed, are among the warnings.
  /// - Throws: `missing` if there is no such set or snapshot, or none of its archives is there; `ambiguous` if several
  ///   snapshots could be meant; `invalid` for a snapshot that is neither an id nor a time, if there are several sets, or if the
  ///   folder is on another machine; `malformed` if the manifest is damaged, `unsupported` if it is encrypted, `locked` if archives
  ///   are being removed, `refused` if ``RestoreOptions/removesOthers`` is not possible for the snapshot or with the options, and then
  ///   nothing is restored; `exhausted` if the machine does not allow a run, `unwritable` if the target cannot be written to.
  public static func restore(
    _ folder: some PathName, into target: some PathName, _ options: RestoreOptions = RestoreOptions(),
    progress: Progress? = nil, each: (@Sendable (ExtractedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<ExtractedFiles> {
    let folder = try folder.pathBytes()
    let target = try target.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: ExtractedFiles()) {
      (library) throws(BatchError) in
      guard !BackupTarget.isRemote(folder) else {
        throw BatchError(
          .invalid, "is a place on another machine, and snapshots are read from local directories",
          path: folder)
      }
      let place = try options.snapshot.map { (text) throws(BatchError) in
        try SnapshotPlace(PathBytes(text))
      }
      var source = RestoreSource(
        globs: options.patterns, strip: max(0, options.strippedNames), in: folder, named: options.setName,
        at: place, of: SeriesChoice(host: options.host, source: options.source.map(BackupTarget.place)),
        patience: SetLock.Patience(limit: options.longestWait / .seconds(1)))
      if options.removesOthers { source.removal = RemovalLimit(mostFiles: options.mostRemoved) }
      source.announce = { (opened, reader) in
        for error in opened.content.damaged { library.warn(error) }
        if let remark = BatchError(doubtfulLinksOf: reader, in: opened) { library.warn(remark) }
        library.note { $0.snapshot = opened.snapshot.name.stamp }
      }
      try library.extract(ExtractCall(.snapshot(source), into: target, options.extraction), [folder], each)
    }
  }
}
