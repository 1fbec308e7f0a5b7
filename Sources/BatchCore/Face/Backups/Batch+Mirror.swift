import BatchEngine

extension Batch {
  /// Which files a mirror copies, and how.
  public struct MirrorOptions: Sendable {
    public var settings = Settings()
    /// Selects the entries below the sources that are copied.
    public var walk = WalkOptions()
    /// How they are copied, and what happens to files of the target.
    public var mirroring = MirroringOptions()
    /// The file to which the SHA-256 of each file is written, as sha256sum does, with names below the target; nil for none. It
    /// appears when it is complete.
    public var manifest: PathBytes?
    /// Whether a file that has the name of ``manifest`` is replaced.
    public var replacesManifest = false

    /// The defaults: everything but devices is copied, and nothing is removed.
    public init() {}
  }

  /// A path that a mirror processed.
  public struct MirroredPath: Sendable, Hashable {
    /// What became of it.
    public enum Result: String, Sendable, Hashable {
      /// It is new in the target.
      case copied
      /// It replaced another version.
      case updated
      /// It became a further name of a file.
      case linked
      /// Only owner, mode, time or attributes were set.
      case described
      case upToDate = "up_to_date"
      /// The version in the target was kept, as requested.
      case kept
      /// It was removed from the target.
      case removed
    }

    /// The path of the source; of a removed path that in the target.
    public let path: PathBytes
    public let result: Result
    /// Bytes of content; 0 for everything but files.
    public let size: Int64
    /// The SHA-256 of a file; nil without ``MirrorOptions/manifest``.
    public let digest: Digest?

    fileprivate init?(_ report: MirrorReport) {
      guard let result = Result(rawValue: report.outcome.rawValue) else { return nil }
      self.result = result
      (path, size, digest) = (report.path, report.size, report.digest)
    }
  }

  /// What a mirror did.
  public struct MirroredFiles: Sendable {
    /// Files that were copied, and their bytes.
    public internal(set) var copied = 0
    public internal(set) var bytes: Int64 = 0
    /// Hard links that were made.
    public internal(set) var linked = 0
    /// Folders that were made.
    public internal(set) var folders = 0
    /// Symbolic links, FIFOs and devices that were made.
    public internal(set) var others = 0
    /// Paths of which only owner, mode, time or attributes were set.
    public internal(set) var described = 0
    public internal(set) var upToDate = 0
    /// Paths that were removed from the target.
    public internal(set) var removed = 0
    /// Files whose bytes in the target differ from those of their source.
    public internal(set) var different = 0
    /// Why nothing was removed although that was requested; nil otherwise.
    public internal(set) var refusal: BatchError?

    init() {}

    mutating func add(_ result: MirrorResult) {
      (copied, bytes, linked, folders) = (result.copied, result.bytes, result.linked, result.folders)
      (others, described, upToDate) = (result.nodes, result.described, result.upToDate)
      (removed, different, refusal) = (result.removed, result.different, result.refusal)
    }
  }

  /// Copies trees into a folder: contents, holes, links, owners, modes, times, access control lists and attributes.
  ///
  /// A source without a slash at its end becomes a folder of the target; with one, its contents are meant. Callable from any
  /// task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - sources: files and folders.
  ///   - target: the folder into which they are copied, created if it is missing.
  ///   - options: what is copied, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the paths in the order of the tree, and then those that were removed, one call at a time, on a thread
  ///     of the run. It may be slow, because the run waits for it when too many results are pending; it must not wait for the
  ///     end of the call.
  /// - Throws: `invalid` if a source is the target, or the manifest exists already; `exhausted` if the machine does not allow a
  ///   run; `unwritable` if the target or the manifest cannot be written.
  public static func mirror(
    _ sources: [some PathName], into target: some PathName, _ options: MirrorOptions = MirrorOptions(),
    progress: Progress? = nil, each: (@Sendable (MirroredPath) -> Void)? = nil
  ) async throws(BatchError) -> Report<MirroredFiles> {
    let sources = try sources.pathBytes()
    let target = try target.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: MirroredFiles()) {
      (library) throws(BatchError) in
      var call = MirrorCall(sources.asFiles, into: target, options.mirroring)
      if let path = options.manifest {
        call.options.makesDigests = true
        call.output = .file(
          .init(path, isReplacing: options.replacesManifest, isSynced: options.mirroring.isSynced))
      }
      let outcome = try library.run(call, sources, options.walk.readingAheadIfFaster) { report in
        if let each, let path = MirroredPath(report) { each(path) }
      }
      guard let result = outcome.result else { return }
      library.note { $0.add(result) }
      if let failure = result.failure { throw failure }
    }
  }
}
