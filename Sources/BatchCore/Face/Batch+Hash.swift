import BatchEngine
import BatchOutputs

extension Batch {
  /// How files are hashed.
  public struct HashOptions: Sendable {
    public var settings = Settings()
    /// Which files below the paths are hashed.
    public var walk = WalkOptions()
    /// One or more; a file is read once for all.
    public var algorithms: [DigestAlgorithm] = [.sha256]
    /// The file that the rows are written to; nil for none. It appears when all rows are there, and not at all where no file
    /// could be hashed or the task was cancelled.
    public var manifest: PathBytes?
    /// The form of the rows of ``manifest``.
    public var format = ManifestFormat.gnu
    /// Whether a file that has the name of ``manifest`` is replaced.
    public var replacesManifest = false
    /// Brings the manifest to the disk before it gets its name.
    public var isSynced = true

    /// SHA-256, and no manifest.
    public init() {}
  }

  /// Takes the digests of the files below some paths.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: of files and folders.
  ///   - options: how, and with what of the machine.
  ///   - progress: gets states until the call returns; nil for none, which saves the walk that counts.
  ///   - each: gets the files in the order of the tree, one call at a time, on a thread of the run. The run waits for it, in the
  ///     end; so it may be slow, and must not wait for the call.
  /// - Throws: `invalid` for no algorithm, for one that the form of the manifest has no place for, and where the name of the manifest
  ///   is taken; `exhausted` where the machine does not allow a run; `unwritable` where the manifest cannot be written.
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
