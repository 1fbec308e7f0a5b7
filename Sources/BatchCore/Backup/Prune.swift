import BatchEngine

/// Decides which snapshots of a set are kept and why, and removes the others.
package struct Prune: Sendable {
  /// Why a snapshot is kept.
  package enum Reason: Sendable, Hashable {
    case rule(Retention.Rule)
    /// The newest snapshot of its series that was read back, and in which no damage has been found since.
    case newestVerified
    /// The newest snapshot of its series without failures, if no rule keeps it.
    case newestComplete
    case future
    /// The rules apply to another series alone.
    case otherSeries
  }

  package struct Decision: Sendable {
    package let snapshot: Snapshot
    /// Empty for a snapshot that is removed.
    package let reasons: [Reason]
  }

  /// From the newest snapshot to the oldest one.
  package let decisions: [Decision]
  /// Archives that no kept snapshot needs, in the order of their names.
  package let archives: [SnapshotName]
  private let set: BackupSet

  /// - Parameters:
  ///   - content: the content of the set; all manifests must be valid.
  ///   - grouping: what makes a series; the rules count each series by itself.
  ///   - own: a snapshot of the only series to which the rules apply; nil for all series.
  ///   - machine: this machine, to recognize its sources in encrypted snapshots.
  ///   - suspects: stamps of archives in which damage was found.
  ///   - now: the current time, in seconds since 1970.
  package init(
    _ retention: Retention, of set: BackupSet, _ content: BackupSet.Content,
    by grouping: Series.Grouping = .hostAndSources, of own: SnapshotName? = nil,
    machine: Machine? = try? .current(), suspects: Set<String>, now: Int64 = FileStatus.Time.now.seconds
  ) {
    self.set = set
    var reasons: [SnapshotName: [Reason]] = [:]
    for series in content.snapshots.series(by: grouping, machine: machine) {
      if let own, !series.contains(where: { $0.name == own }) {
        for snapshot in series { reasons[snapshot.name] = [.otherSeries] }
        continue
      }
      let snapshots = Array(series.reversed())
      let rules = retention.reasons(of: snapshots.map(\.header.started.seconds), now: now)
      for (snapshot, rules) in zip(snapshots, rules) { reasons[snapshot.name] = rules.map { .rule($0) } }
      let past = snapshots.filter { snapshot in
        guard snapshot.isFuture(at: now) else { return true }
        reasons[snapshot.name] = [.future]
        return false
      }
      if let complete = past.first(where: \.isComplete), reasons[complete.name]?.isEmpty == true {
        reasons[complete.name] = [.newestComplete]
      }
      let trusted = past.first { snapshot in
        snapshot.footer.isVerified && content.faults(of: snapshot).isEmpty
          && suspects.isDisjoint(with: snapshot.footer.needs.keys)
          && !suspects.contains(snapshot.name.stamp)
      }
      if let trusted { reasons[trusted.name, default: []].append(.newestVerified) }
    }
    decisions = content.snapshots.reversed().map { Decision(snapshot: $0, reasons: reasons[$0.name] ?? []) }
    let kept = decisions.filter { !$0.reasons.isEmpty }.map(\.snapshot)
    let needed = Self.archives(neededBy: kept)
    archives = Self.archives(neededBy: decisions.filter(\.reasons.isEmpty).map(\.snapshot))
      .subtracting(needed).sorted { $0.stamp < $1.stamp }
  }

  private static func archives(neededBy snapshots: [Snapshot]) -> Swift.Set<SnapshotName> {
    snapshots.reduce(into: []) { (names, snapshot) in
      names.insert(snapshot.name)
      for stamp in snapshot.footer.needs.keys {
        // Encrypted and unencrypted snapshots never need archives of each other.
        names.insert(
          SnapshotName(set: snapshot.name.set, stamp: stamp, isEncrypted: snapshot.name.isEncrypted))
      }
    }
  }

  package var removed: [Snapshot] { decisions.filter(\.reasons.isEmpty).map(\.snapshot) }
  /// The snapshots that are kept since their times are in the future.
  package var future: [Snapshot] { decisions.filter { $0.reasons.contains(.future) }.map(\.snapshot) }

  /// Removes the manifests, and then the archives, so that every snapshot with a manifest is complete at any moment.
  ///
  /// All manifests are read first: archives are removed only if no other snapshot needs them.
  ///
  /// - Parameter lock: a lock for writing that is held; no run may read while archives are removed.
  /// - Throws: `malformed` when a manifest is damaged; then nothing is removed. `locked` while another run reads, `unwritable`
  ///   when a file cannot be removed.
  package func remove(
    _ lock: SetLock, _ patience: SetLock.Patience, isSynced: Bool, in run: RunContext
  ) throws(BatchError) {
    guard !removed.isEmpty else { return }
    try checkManifests(in: run)
    let folder = try SetFolder(set, in: run)
    try lock.take(.removing, patience, run.cancellation)
    defer { lock.release(.removing) }
    let companions = removed.map(\.name).filter(\.isEncrypted).map(\.companion)
    try lock.note(archives.map(\.archive) + companions)
    // The oldest first, so that the newest ones remain after an interruption.
    for snapshot in removed.reversed() { try folder.remove(snapshot.name.manifest) }
    if isSynced { try folder.sync() }
    for companion in companions { try folder.remove(companion) }
    for archive in archives { try folder.remove(archive.archive) }
    if isSynced { try folder.sync() }
    try lock.note([])
  }

  /// Compares all manifests with their digests before anything is removed.
  ///
  /// - Throws: `malformed` when one is damaged: the archives that it needs are unknown.
  func checkManifests(in run: RunContext) throws(BatchError) {
    guard !removed.isEmpty else { return }
    for decision in decisions {
      do throws(BatchError) {
        try set.check(decision.snapshot, in: run)
      } catch {
        try run.cancellation.check()
        throw BackupSet.nothingIsRemoved(because: error)
      }
    }
  }
}

extension Snapshot {
  /// Whether it has no failures as far as it is known; earlier versions did not record them.
  package var isComplete: Bool { footer.failures ?? 0 == 0 }

  /// - Parameter now: in seconds since 1970.
  package func isFuture(at now: Int64) -> Bool { Retention.isFuture(header.started.seconds, now: now) }
}

extension BackupSet {
  /// Takes the writer's lock of the set, for a run that only removes snapshots.
  ///
  /// - Throws: `locked` when another run has it.
  package func lockForPruning(_ patience: SetLock.Patience, in run: RunContext) throws(BatchError) -> SetLock
  {
    let lock = try lockForWriting(patience, in: run)
    StaleTemporaries.remove(in: directory, calls: run.calls)
    return lock
  }

  /// The content of the set for the decision.
  ///
  /// - Throws: `malformed` when a manifest is not valid: the archives that it needs are unknown.
  package func prunable(in run: RunContext) throws(BatchError) -> Content {
    let content = try content(in: run)
    if let damaged = content.damaged.first { throw Self.nothingIsRemoved(because: damaged) }
    return content
  }

  static func nothingIsRemoved(because damaged: BatchError) -> BatchError {
    BatchError(
      damaged.code, "nothing is removed while a manifest is not valid: \(damaged.message)",
      path: damaged.path, errno: damaged.errno,
      remedy: damaged.remedy ?? "remove this manifest if its snapshot is not needed")
  }
}
