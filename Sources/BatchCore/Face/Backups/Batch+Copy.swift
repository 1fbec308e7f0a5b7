import BatchEngine

extension Batch {
  /// How the snapshots of a set are copied.
  public struct CopyOptions: Sendable {
    public var settings = Settings()
    /// The name of the set; nil for the only one in the folder.
    public var setName: PathBytes?
    /// Reads the files that exist at the remote, and compares their contents, not only their sizes.
    public var comparesContents = false
    /// Also copies unencrypted snapshots of a set that has encrypted ones.
    public var copiesUnencrypted = false
    /// Which copies are kept. Without a rule no copy is removed.
    public var keeping = PruneOptions()
    /// Whether the remote refuses removals, which then do not count as failures.
    public var isAppendOnly = false
    /// A directory for small temporary files.
    public var temporaryDirectory: PathBytes = "/tmp"
    /// How long to wait while another run removes archives of the set; 0 refuses at once.
    public var longestWait = Duration.zero
    /// Syncs copies to the disk before they get their names, if the remote is a directory.
    public var isSynced = true

    /// The defaults: files with the right size stay, and no copy is removed.
    public init() {}
  }

  /// The files of a set that were copied.
  public struct CopiedSnapshots: Sendable {
    /// Snapshots of which at least one file was copied.
    public internal(set) var snapshots = 0
    public internal(set) var files = 0
    public internal(set) var bytes: UInt64 = 0
    /// Files that were at the remote already.
    public internal(set) var equal = 0
    /// Snapshots and archives that were not copied, because they are damaged or incomplete; each is among the failures.
    public internal(set) var problems = 0
    /// The ids of the copies that were removed.
    public internal(set) var removed: [String] = []

    init() {}

    mutating func add(_ result: CopyCall.Result) {
      let copied = result.copied
      (snapshots, files, bytes) = (copied.snapshots, copied.files, copied.bytes)
      (equal, problems) = (copied.equal, copied.problems)
      removed = result.removed.map(\.name.stamp)
    }
  }

  /// Copies the snapshots of a set that are not at a remote yet: archives first and the manifest last, so that each copy with a
  /// manifest is complete. A damaged archive never replaces its copy.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - folder: the local folder of the set.
  ///   - remote: `NAME:path` is a remote of rclone; everything else is a directory.
  ///   - options: what is copied, and the resources that the call may use.
  ///   - each: receives the name of each file that was copied, one call at a time, on a thread of the run. It may be slow,
  ///     because the run waits for it when too many results are pending; it must not wait for the end of the call.
  /// - Throws: `missing` if there is no set, `invalid` if there are several, or if the remote may have the snapshots of another
  ///   one; `locked` if archives of the set are being removed; `exhausted` if the machine does not allow a run; the error of the
  ///   remote, and then the next call continues from there.
  public static func copy(
    _ folder: some PathName, to remote: some PathName, _ options: CopyOptions = CopyOptions(),
    each: (@Sendable (PathBytes) -> Void)? = nil
  ) async throws(BatchError) -> Report<CopiedSnapshots> {
    let folder = try folder.pathBytes()
    let remote = try remote.pathBytes()
    return try await BatchCall.perform(options.settings, progress: nil, details: CopiedSnapshots()) {
      (library) throws(BatchError) in
      var call = CopyCall(to: remote, temporary: options.temporaryDirectory) { (run) throws(BatchError) in
        try BackupSet(in: folder, named: options.setName, run)
      }
      (call.comparesContents, call.allowsPlain) = (options.comparesContents, options.copiesUnencrypted)
      (call.retention, call.grouping) = (options.keeping.retention, options.keeping.grouping)
      (call.isAppendOnly, call.isSynced) = (options.isAppendOnly, options.isSynced)
      call.leastUsed = options.keeping.leastUsed
      call.patience = SetLock.Patience(limit: options.longestWait / .seconds(1))
      let outcome = try library.run(call, [folder]) { each?($0) }
      if let result = outcome.result { library.note { $0.add(result) } }
    }
  }
}
