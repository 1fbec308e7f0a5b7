import BatchEngine
import func Glibc.getenv

extension Batch {
  /// How a snapshot is made.
  public struct BackupOptions: Sendable {
    public var settings = Settings()
    /// Selects the files and folders below the sources that are in the snapshot. A source that is a symbolic link is followed.
    public var walk = WalkOptions()
    /// The name of the set: UTF-8, up to 128 bytes without a slash and control characters, and without a dot or dash at its start.
    public var setName: PathBytes = "backup"
    /// One of the levels of zstd; nil for its default.
    public var level: Int?
    /// One of this many snapshots is a full one, 1 or more; the others contain what has changed since the one before. Nil if only
    /// the first one is full.
    public var fullEvery: Int?
    /// Makes a full snapshot in any case.
    public var isFull = false
    /// Also reads files that seem unchanged by size and time, and so finds bytes that have changed unnoticed (rot).
    public var readsAllFiles = false
    /// Stores the new bytes where rot is found; otherwise the snapshot keeps the content of the one before, and the file fails.
    public var acceptsRot = false
    /// Accepts a source that is empty although it had files in the snapshot before. By default this ends the call: probably a disk
    /// is not mounted.
    public var allowsEmptySources = false
    /// Accepts a source that is on another file system than in the snapshot before and has none of its files. By default this ends
    /// the call.
    public var allowsOtherFileSystems = false
    /// Begins a set in the folder. By default a folder is refused that is not the one of earlier backups, since probably a disk is
    /// not mounted there.
    public var beginsSet = false
    /// Reads the archive back and compares it with what was written, before the snapshot gets its name.
    public var readsBack = true
    /// Recovery data that are written beside the archive, and at least as many beside the manifest; nil for none.
    public var parity: ParityAmount?
    /// After this many bytes of files what was done becomes an incomplete snapshot, which the same call continues, or the next one if
    /// this one ends early; a complete snapshot removes it. Nil for never.
    public var bytesPerCheckpoint: Int? = 32 << 30
    /// How long to wait for another run that writes to the set; 0 refuses at once.
    public var longestWait = Duration.zero
    /// The folder in which this machine records the folders and sets of its backups, so that it can recognize them; nil for that of
    /// the command: `batchproc` in `$XDG_STATE_HOME`; otherwise for root `/var/lib/batchproc`, and in `.local/state` of other users.
    public var stateDirectory: PathBytes?
    /// Syncs the snapshot to the disk before it gets its name.
    public var isSynced = true

    /// The defaults: the snapshot continues the series of these sources in the set `backup`, and is read back.
    public init() {}
  }

  /// A snapshot that was made.
  public struct BackedUpFiles: Sendable {
    /// The id of the snapshot, which is also its time in UTC: `20260131T120000Z`. Nil if the task was cancelled before it was
    /// complete; then the set has only what was done up to the last checkpoint.
    public internal(set) var id: String?
    /// Whether its archive contains all its files, except those that keep the content of the snapshot before because of rot.
    public internal(set) var isFull = false
    /// Whether it is the first of a series: the set has no snapshot of this machine and these sources.
    public internal(set) var beginsSeries = false
    /// The files of the snapshot, including those in archives of earlier snapshots.
    public internal(set) var files: UInt64 = 0
    /// Bytes of the contents of these files.
    public internal(set) var bytes: UInt64 = 0
    /// What was archived by this call; the other files have not changed.
    public internal(set) var archived = ArchivedFiles()
    /// How many members of the archive were read back and compared; nil without ``BackupOptions/readsBack``.
    public internal(set) var verified: Int?
    /// How many files have other bytes than before, although size and time are the same.
    public internal(set) var rotten = 0
    /// How many files of sets in the folder of the set are not in the snapshot.
    public internal(set) var leftOut = 0
    private var hasFailures = false

    init() {}

    /// Whether there is a snapshot, everything that was to be in it could be read, and no file is rotten.
    public var isComplete: Bool { id != nil && !hasFailures && rotten == 0 }

    mutating func add(_ result: BackupCall.Result) {
      var size = archived.size ?? 0
      size.addClamped(Int64(clamping: result.content.footer.archiveSize))
      archived.size = size
      if let count = result.verified { verified = (verified ?? 0) + count }
      rotten.addClamped(result.content.rotten)
      guard !result.content.footer.isCut else { return }
      let (header, footer) = (result.content.header, result.content.footer)
      id = header.name.stamp
      isFull = header.isFull
      (files, bytes) = (footer.files, footer.bytes)
      leftOut = result.content.leftOut
      hasFailures = footer.failures != 0
    }
  }

  /// Makes a snapshot of files and trees in a set. It removes no snapshot, and never changes the files of earlier ones.
  ///
  /// Encrypted sets are not supported: a set whose newest snapshot is encrypted is refused.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - paths: the sources, one or more.
  ///   - folder: the local folder of the set, which may be below a source. The folder is created if the one above it exists.
  ///   - options: how the snapshot is made, and the resources that the call may use.
  ///   - progress: receives states until the call returns; with nil, the tree is not walked a second time to count the files.
  ///   - each: receives the members of the archive in their order: what the snapshot before does not have, one call at a time,
  ///     on a thread of the run. It may be slow, because the run waits for it when too many results are pending; it must not
  ///     wait for the end of the call.
  /// - Returns: the facts of the snapshot. Files that cannot be read are among the failures, and the snapshot is made without
  ///   them; remarks about the set are among the warnings.
  /// - Throws: `locked` if another run writes to the set; `missing` or `invalid` for a source or folder that is missing or
  ///   implausible, and for a name or level that is not possible; `ambiguous` if the newest snapshot is encrypted; `unreadable`
  ///   if no file could be read; `exhausted` if the machine does not allow a run; `unwritable` if the snapshot cannot be written, or
  ///   if what was read back differs. Then no snapshot was made.
  public static func backup(
    _ paths: [some PathName], to folder: some PathName, _ options: BackupOptions = BackupOptions(),
    progress: Progress? = nil, each: (@Sendable (Member) -> Void)? = nil
  ) async throws(BatchError) -> Report<BackedUpFiles> {
    let paths = try paths.pathBytes()
    let folder = try folder.pathBytes()
    return try await BatchCall.perform(options.settings, progress: progress, details: BackedUpFiles()) {
      (library) throws(BatchError) in
      try SnapshotName.checkNew(options.setName)
      let set = try BackupSet(in: folder, named: options.setName)
      var legs = try options.ofCall
      var call = BackupCall(to: set, legs, stride: options.settings.stride)
      call.announce = { backup in
        for warning in backup.warnings + backup.preparation.remarks { library.warn(warning) }
        library.note { $0.beginsSeries = backup.preparation.continued == nil }
      }
      let outcome = try library.run(
        call, paths, options.walk.readingAheadIfFaster,
        report: { members in
          for member in members {
            library.note { $0.archived.add(member) }
            each?(Member(member))
          }
        },
        following: { result in
          library.note { $0.add(result) }
          guard legs.continues(result) else { return nil }
          return BackupCall(to: set, legs, stride: options.settings.stride)
        })
      guard outcome.result != nil, !outcome.verdict.contains(.nothing) else {
        throw BatchError(.unreadable, "no file could be read: no snapshot was made")
      }
    }
  }
}

extension Batch.BackupOptions {
  /// The same options as those of the call.
  fileprivate var ofCall: BackupOptions {
    get throws(BatchError) {
      var options = BackupOptions()
      options.archive.level = level
      options.archive.isRemembered = readsBack
      options.parity = parity?.options
      options.fullEvery = fullEvery.map { UInt64(max(1, $0)) }
      options.isFull = isFull
      options.checkpoint = bytesPerCheckpoint.map { UInt64(clamping: max(1, $0)) }
      options.readsEverything = readsAllFiles
      options.acceptsRot = acceptsRot
      options.allowsEmpty = allowsEmptySources
      options.allowsOtherFileSystem = allowsOtherFileSystems
      options.isSynced = isSynced
      options.patience = SetLock.Patience(limit: longestWait / .seconds(1))
      options.initializes = beginsSet
      options.state =
        stateDirectory.map { StatePlace($0.appending("sets".utf8)) }
        ?? StateFile.place("sets") { name in getenv(name).map { PathBytes(String(cString: $0)) } }
      options.selection = try BackupOptions.word(of: walk.selection)
      return options
    }
  }
}

extension WalkOptions {
  /// What it selects, as texts that are equal only for equal selections; none for the defaults.
  fileprivate var selection: [String] {
    func facts(_ walk: WalkOptions) -> [String] {
      [
        "\(walk.followsLinks) \(walk.staysOnFileSystem) \(walk.readsIgnoreFiles) \(walk.skipsCaches)",
        "\(walk.minimumSize ?? -1) \(walk.maximumSize ?? -1) \(walk.age) \(walk.limits)",
      ] + (walk.filter?.givenRules ?? []).map { "\($0.option) \($0.pattern.bytes)" }
        + walk.excluded.map { "\($0.device) \($0.inode)" }.sorted()
    }
    let texts = facts(self)
    return texts == facts(WalkOptions()) ? [] : texts
  }
}
