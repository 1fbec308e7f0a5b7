import BatchEngine

/// Removes the snapshots of a set that no rule keeps, and the archives that only these need.
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
  package var isSynced = true

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
      let prune = Prune(
        retention, of: set, content, by: grouping, of: own,
        suspects: try set.foundDamage().suspects, known: set.knownStamps(of: content.snapshots),
        removesUnlisted: removesUnlisted)
      if let lock { try prune.remove(lock.lock, lock.patience, isSynced: isSynced, in: run) }
      return prune
    }
  }
}

extension Prune: CallResult {}
