import BatchEngine
import BatchOutputs

extension Batch {
  /// How files are hashed.
  public struct HashOptions: Sendable {
    public var settings = Settings()
    /// Selects the files below the paths that are hashed.
    public var walk = WalkOptions()
    /// One or more algorithms; each file is read only once.
    public var algorithms: [DigestAlgorithm] = [.sha256]
    /// The file to which the rows are written; nil for none. It appears when all rows are written, and not at all if each
    /// path is missing or cannot be read, or if the task was cancelled.
    public var manifest: PathBytes?
    /// The form of the rows of ``manifest``.
    public var format = ManifestFormat.gnu
    /// Whether a file that has the name of ``manifest`` is replaced.
    public var replacesManifest = false
    /// Syncs the manifest to the disk before it gets its name.
    public var isSynced = true

    /// The defaults: SHA-256, and no manifest.
    public init() {}
  }

  /// Computes the digests of files, and of all files below folders.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the files and folders.
  ///   - options: which digests are computed, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the files in the order of the tree, one call at a time, on a thread of the run. It may be slow, because
  ///     the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Throws: `invalid` if there is no algorithm, if the form of the manifest does not support one, or if the manifest exists
  ///   already; `exhausted` if the machine does not allow a run; `unwritable` if the manifest cannot be written.
  public static func hash(
    _ paths: [some PathName], _ options: HashOptions = HashOptions(), progress: Progress? = nil,
    each: (@Sendable (HashedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<Void> {
    let paths = try paths.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: ()) {
      (library) throws(BatchError) in
      let algorithms = options.algorithms
      guard !algorithms.isEmpty else { throw BatchError(.invalid, "no algorithm is given") }
      var call = HashCall(try ManifestWriter(options.format, algorithms: algorithms))
      call.reportsFiles = each != nil
      if let path = options.manifest {
        call.output = .file(
          .init(path, isReplacing: options.replacesManifest, isSynced: options.isSynced))
      }
      try library.run(call, paths, options.walk.readingAheadIfFaster) { rows in
        guard let each else { return }
        for slice in rows.slices { if let file = HashedFile(slice, algorithms) { each(file) } }
      }
    }
  }
}
