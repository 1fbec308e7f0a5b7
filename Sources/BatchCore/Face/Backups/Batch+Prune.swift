import BatchEngine

extension Batch {
  /// Which snapshots of a set are kept. A snapshot that no rule keeps is removed.
  public struct PruneOptions: Sendable {
    public var settings = Settings()
    /// The name of the set; nil for the only one in the folder.
    public var setName: PathBytes?
    /// How many of the newest snapshots are kept, 0 or more; this and the numbers below count each series by itself.
    public var last = 0
    /// For how many hours, days, weeks, months and years with snapshots the newest one is kept, 0 or more; in local time.
    public var hourly = 0
    public var daily = 0
    public var weekly = 0
    public var monthly = 0
    public var yearly = 0
    /// Counts the snapshots of all machines and sources as one series, which keeps fewer of them.
    public var countsAllAsOneSeries = false
    /// An archive whose snapshot was removed is replaced by a smaller one if less of its bytes are needed, in percent, 0 to 100; 0
    /// replaces none.
    public var leastUsed = 50
    /// Decides and removes nothing.
    public var isDryRun = false
    /// How long to wait for another run that uses the set; 0 refuses at once.
    public var longestWait = Duration.zero
    /// Syncs each step of a removal to the disk.
    public var isSynced = true

    /// No rule; ``Batch/prune(_:_:)`` needs at least one.
    public init() {}

    var retention: Retention {
      Retention(counts: [
        .last: last, .hourly: hourly, .daily: daily, .weekly: weekly, .monthly: monthly, .yearly: yearly,
      ])
    }

    var grouping: Series.Grouping { countsAllAsOneSeries ? .none : .hostAndSources }

    var patience: SetLock.Patience { SetLock.Patience(limit: longestWait / .seconds(1)) }
  }

  /// What the rules decided. The newest verified snapshot of a series, the newest one without failures and those with a time in
  /// the future are kept in addition to what the rules keep.
  public struct PrunedSnapshots: Sendable {
    /// The ids of the snapshots that were removed, or would be, from the newest to the oldest.
    public internal(set) var removed: [String] = []
    /// The ids of those that are kept, in the same order.
    public internal(set) var kept: [String] = []
    /// Those of them that no rule counts, since their times are in the future: the clock may be wrong.
    public internal(set) var future: [String] = []
    /// How many archives were removed, since only removed snapshots need them.
    public internal(set) var archives = 0
    /// How many archives were replaced by smaller ones, or would be.
    public internal(set) var compacted = 0
    /// The bytes that this won; an estimate in a dry run.
    public internal(set) var bytesWon: UInt64 = 0

    init() {}

    mutating func add(_ prune: Prune) {
      removed = prune.removed.map(\.name.stamp)
      kept = prune.decisions.filter { !$0.reasons.isEmpty }.map(\.snapshot.name.stamp)
      future = prune.future.map(\.name.stamp)
      archives = prune.archives.count
      compacted = prune.compacted.count
      bytesWon = prune.compacted.reduce(into: 0) { $0.addWithinRange($1.won) }
    }
  }

  /// Removes the snapshots of a set that no rule keeps, and the archives that only these need.
  ///
  /// Callable from any task; see ``Batch`` for threads and cancellation.
  ///
  /// - Parameters:
  ///   - folder: the local folder of the set.
  ///   - options: the rules, one or more, and the resources that the call may use.
  /// - Throws: `invalid` if no rule is given, which would keep nothing, or if there are several sets; `missing` if there is no set;
  ///   `malformed` if a manifest is damaged; `locked` if another run uses the set; `exhausted` if the machine does not allow a
  ///   run. Then nothing was removed. `unwritable` if a file cannot be removed.
  public static func prune(
    _ folder: some PathName, _ options: PruneOptions
  ) async throws(BatchError) -> Report<PrunedSnapshots> {
    let folder = try folder.pathBytes()
    return try await BatchCall.perform(options.settings, progress: nil, details: PrunedSnapshots()) {
      (library) throws(BatchError) in
      let locking = options.isDryRun ? PruneCall.Locking.dryRun : .taken(options.patience)
      var call = PruneCall(options.retention, locking) { (run) throws(BatchError) in
        try BackupSet(in: folder, named: options.setName, run)
      }
      (call.grouping, call.isSynced) = (options.grouping, options.isSynced)
      call.leastUsed = options.leastUsed
      let outcome = try library.run(call, [folder]) { _ in }
      if let prune = outcome.result { library.note { $0.add(prune) } }
    }
  }
}
