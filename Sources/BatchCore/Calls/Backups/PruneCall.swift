import BatchEngine

/// Removes the snapshots of a set that no rule keeps, and the archives that only these need. Then it makes archives smaller of which
/// only a part is needed.
package struct PruneCall: Call {
  package enum Locking {
    /// The call takes the lock.
    case taken(SetLock.Patience)
    case held(SetLock, SetLock.Patience)
    /// Nothing is removed.
    case dryRun
  }

  private let open: (RunContext) throws(BatchError) -> BackupSet
  private let retention: Retention
  private let locking: Locking
  package var grouping = Series.Grouping.hostAndSources
  /// A snapshot of the only series to which the rules apply; nil for all series.
  package var own: SnapshotName?
  /// Whether archives without a manifest that no snapshot needs are removed too; then no rule is needed.
  package var removesUnlisted = false
  /// Whether damaged files that a repair has replaced and kept are removed.
  package var removesDamaged = false
  package var isSynced = true
  /// An archive without a manifest becomes smaller if less of its bytes are needed, in percent; 0 for none.
  package var leastUsed = Self.usualLeastUsed

  package static let usualLeastUsed = 50

  /// - Parameter open: opens the set; called once.
  package init(
    _ retention: Retention, _ locking: Locking,
    of open: @escaping (RunContext) throws(BatchError) -> BackupSet
  ) {
    (self.retention, self.locking, self.open) = (retention, locking, open)
  }

  /// - Throws: `invalid` when no rule is given, which would keep nothing; `locked` when another run has the lock; `malformed` when
  ///   a manifest is damaged, and then nothing is removed.
  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Never) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Prune> {
    let set = try open(run)
    guard removesUnlisted || !retention.isEmpty else {
      throw BatchError(.invalid, "no rule keeps any snapshot: nothing is removed", path: set.directory)
    }
    let lock: (lock: SetLock, patience: SetLock.Patience)?
    switch locking {
    case .taken(let patience): lock = (try set.lockForPruning(patience, in: run), patience)
    case .held(let held, let patience): lock = (held, patience)
    case .dryRun: lock = nil
    }
    return Prepared { () throws(BatchError) in
      let content = try set.prunable(in: run)
      var prune = Prune(
        retention, of: set, content, by: grouping, of: own,
        suspects: try set.foundDamage().suspects, known: set.knownStamps(of: content.snapshots),
        removesUnlisted: removesUnlisted)
      if let lock { try prune.remove(lock.lock, lock.patience, isSynced: isSynced, in: run) }
      if removesDamaged {
        prune.damagedFiles = content.replaced.filter { set.isReplaced($0) || !prune.needs($0) }
        if lock != nil { try set.remove(prune.damagedFiles, isSynced: isSynced, in: run) }
      }
      prune.compacted = try Self.compact(
        set, content, after: prune, leastUsed, lock, isSynced: isSynced, in: run)
      return prune
    }
  }

  /// Makes archives smaller, or only estimates the sizes.
  ///
  /// - Parameter lock: nil to change nothing.
  /// - Throws: the error of replacing an archive; what prevents it otherwise is reported, and is no failure.
  static func compact(
    _ set: BackupSet, _ content: BackupSet.Content, after prune: Prune? = nil, _ leastUsed: Int,
    _ lock: (lock: SetLock, patience: SetLock.Patience)?, isSynced: Bool, in run: RunContext
  ) throws(BatchError) -> [CompactedArchive] {
    guard leastUsed > 0 else { return [] }
    let removed = Set(prune?.removed.map(\.name) ?? [])
    let gone = Set(prune?.archives ?? [])
    let compaction = SetCompaction(
      of: set, (content.snapshots + content.cut).filter { !removed.contains($0.name) },
      content.archives.filter { !gone.contains($0.key) }, suspects: try set.foundDamage().suspects,
      least: leastUsed, in: run
    ) { (archive) throws(BatchError) in
      try ArchiveReadBack(isSynced: isSynced, run: run).damage(of: archive)
    }
    guard let lock else { return try compaction.preview() }
    return try compaction.replace(lock.lock, lock.patience, isSynced: isSynced)
  }
}

extension Prune: CallResult {}
