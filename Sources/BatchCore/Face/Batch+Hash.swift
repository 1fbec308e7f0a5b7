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
    /// The file to which the rows are written; nil for none. It appears when all rows are written, and not at all if no file
    /// could be hashed or the task was cancelled.
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
    _ paths: [PathBytes], _ options: HashOptions = HashOptions(), progress: Progress? = nil,
    each: (@Sendable (HashedFile) -> Void)? = nil
  ) async throws(BatchError) -> Report<Void> {
    try await BatchCall.perform(options.settings, progress, ()) { (call) throws(BatchError) in
      let algorithms = options.algorithms
      guard !algorithms.isEmpty else { throw BatchError(.invalid, "no algorithm is given") }
      let writer = try ManifestWriter(options.format, algorithms: algorithms)
      let run = try call.makeRun(paths.first, inputs: 2)
      var walk = options.walk
      if walk.readAheadThreshold == .zero { walk.readAheadThreshold = WalkOptions.usualReadAheadThreshold }
      let file = try options.manifest.map { (path) throws(BatchError) in
        if let replaced = StandardStreams.identity(of: path) { walk.excluded.insert(replaced) }
        return try OutputFile(
          path, isReplacing: options.replacesManifest, isSynced: options.isSynced, in: run)
      }
      do throws(BatchError) {
        if let file {
          if let identity = file.identity { walk.excluded.insert(identity) }
          var header = [UInt8]()
          writer.appendHeader(to: &header)
          if !header.isEmpty { try file.write(header) }
        }
        let job = HashJob(algorithms: algorithms) { (row, bytes) throws(BatchError) in
          if each != nil {
            HashedFile.append(row, to: &bytes)
          } else if file != nil {
            try writer.append(row, to: &bytes)
          }
        } output: { (rows) throws(BatchError) in
          guard let each else {
            try file?.write(rows.bytes)
            return
          }
          var lines = [UInt8]()
          for slice in rows.slices {
            guard let hashed = HashedFile(slice, algorithms) else { continue }
            if file != nil { try writer.append(hashed.row, to: &lines) }
            each(hashed)
          }
          if !lines.isEmpty { try file?.write(lines) }
        }
        let paths = paths.asFiles
        call.start(job, over: run.tree(paths, options: walk), in: run, count: (paths, walk)) {
          (result) throws(BatchError) in
          let counts = run.counters.snapshot
          if result == nil || (counts.done == 0 && counts.failed > 0) {
            file?.discard()
          } else {
            try file?.finish()
          }
        }
      } catch {
        file?.discard()
        throw error
      }
    }
  }
}
