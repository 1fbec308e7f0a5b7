import BatchEngine

extension Batch {
  /// How much of a snapshot is restored on trial.
  public struct DrillOptions: Sendable {
    public var settings = Settings()
    /// The name of the set; nil for the only one in the folder.
    public var setName: PathBytes?
    /// The snapshot, as in ``RestoreOptions/snapshot``; nil for the newest one.
    public var snapshot: String?
    /// The share of the files and of their bytes, above 0 and up to 1. Each drill continues where the one before ended.
    public var share = 0.05
    /// Ends after the files that are being restored when it is used up; nil for no limit.
    public var budget: Duration?
    /// Also compares the files that were backed up, to find rot.
    public var comparesLiveFiles = false
    /// The folder below which files are restored; they are removed again.
    public var temporaryDirectory: PathBytes = "/tmp"
    /// How long to wait while another run removes archives of the set; 0 refuses at once.
    public var longestWait = Duration.zero

    /// The defaults: a twentieth of the newest snapshot.
    public init() {}
  }

  /// The files that were restored on trial.
  public struct DrilledFiles: Sendable {
    /// The id of the snapshot; nil if the task was cancelled before a file was restored.
    public internal(set) var snapshot: String?
    public internal(set) var files = 0
    public internal(set) var bytes: Int64 = 0
    /// Files whose restored content or metadata differ from the snapshot, at most ``Settings/mostListed``.
    public internal(set) var damaged: [PathBytes] = []
    public internal(set) var damagedCount = 0
    /// Files that were not restored for lack of space, or could not be read.
    public internal(set) var undrilled = 0
    /// Files that were backed up and have other bytes now, although size and time are the same.
    public internal(set) var rotten = 0
    private var isFinished = false

    init() {}

    /// Whether all files of this drill were restored as they were backed up.
    public var isVerified: Bool { isFinished && damagedCount == 0 && undrilled == 0 && rotten == 0 }

    mutating func add(_ finding: AuditedPaths.Finding, most: Int) {
      if finding.difference != nil, damaged.count < most { damaged.append(finding.path) }
    }

    mutating func add(_ result: DrillCall.Result) {
      (snapshot, files, bytes) = (result.snapshot, result.files, result.bytes)
      (damagedCount, undrilled, rotten) = (result.damaged, result.undrilled, result.rotten)
      isFinished = result.remains == nil
    }
  }

  /// Restores a part of a snapshot to a temporary folder, compares it with the manifest, and removes it.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - folder: the local folder of the set, in which the progress of the drills is recorded.
  ///   - options: how much is restored, and the resources that the call may use.
  ///   - each: receives the files that were restored, and those that were backed up and have rotted since, one call at a time,
  ///     on a thread of the run. It may be slow, because the run waits for it when too many results are pending; it must not
  ///     wait for the end of the call.
  /// - Throws: `missing` if there is no such set or snapshot, `invalid` for a snapshot that is neither an id nor a time or if there
  ///   are several sets, `malformed` if the manifest is damaged, `locked` if archives are being removed, `unwritable` if the
  ///   temporary folder cannot be created, `exhausted` if the machine does not allow a run.
  public static func drill(
    _ folder: some PathName, _ options: DrillOptions = DrillOptions(),
    each: (@Sendable (AuditedPaths.Finding) -> Void)? = nil
  ) async throws(BatchError) -> Report<DrilledFiles> {
    let folder = try folder.pathBytes()
    return try await BatchCall.perform(options.settings, progress: nil, details: DrilledFiles()) {
      (library) throws(BatchError) in
      guard options.share > 0, options.share <= 1 else {
        throw BatchError(.invalid, "a drill restores a share above 0 and up to 1")
      }
      let place = try options.snapshot.map { (text) throws(BatchError) in
        try SnapshotPlace(PathBytes(text))
      }
      var call = DrillCall(temporary: options.temporaryDirectory) { (run) throws(BatchError) in
        let set = try BackupSet(in: folder, named: options.setName, run)
        let content = try set.content(in: run)
        for error in content.damaged { library.warn(error) }
        return (try set.opened(content.snapshot(at: place, of: SeriesChoice()), in: run), set)
      }
      (call.share, call.budget, call.isAgainstLive) = (
        options.share, options.budget, options.comparesLiveFiles
      )
      call.patience = SetLock.Patience(limit: options.longestWait / .seconds(1))
      let outcome = try library.run(call, [folder]) { report in
        switch report {
        case .restored(let findings):
          for finding in findings.lazy.map({ AuditedPaths.Finding($0) }) {
            library.note { $0.add(finding, most: library.settings.mostListed) }
            each?(finding)
          }
        case .rotten(let findings): for finding in findings { each?(AuditedPaths.Finding(finding)) }
        }
      }
      if let result = outcome.result { library.note { $0.add(result) } }
    }
  }
}
