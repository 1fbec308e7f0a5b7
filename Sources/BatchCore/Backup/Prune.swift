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
    /// The newest snapshot of its series that is certainly of this set, and not of a user who may only add files.
    case newestKnown
    case future
    /// It is one of those that no removal before a new snapshot takes.
    case untilNext
    /// No rule was given; only archives without a manifest are removed.
    case noRule
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
  /// Those of them that have no manifest.
  package let unlisted: [SnapshotName]
  private let cut: [Snapshot]
  /// Archives that became smaller after the removal, or would.
  package var compacted: [CompactedArchive] = []
  /// Damaged files that a repair had replaced and kept, and that were removed, or would be.
  package var damagedFiles: [PathBytes] = []
  private let set: BackupSet

  /// - Parameters:
  ///   - retention: the rules; without any, all snapshots are kept if `removesUnlisted` is set, and otherwise none.
  ///   - content: the content of the set; all manifests must be valid.
  ///   - grouping: what makes a series; the rules count each series by itself.
  ///   - own: a snapshot of the only series to which the rules apply; nil for all series.
  ///   - machine: this machine, to recognize its sources in encrypted snapshots.
  ///   - suspects: stamps of archives in which damage was found.
  ///   - known: stamps of snapshots that are certainly of this set.
  ///   - removesUnlisted: whether archives without a manifest that no snapshot needs are removed too.
  ///   - now: the current time, in seconds since 1970.
  package init(
    _ retention: Retention, of set: BackupSet, _ content: BackupSet.Content,
    by grouping: Series.Grouping = .hostAndSources, of own: SnapshotName? = nil,
    machine: Machine? = try? .current(), suspects: Set<String>, known: Set<String> = [],
    removesUnlisted: Bool = false, now: Int64 = FileStatus.Time.now.seconds
  ) {
    let unlisted = removesUnlisted ? content.unlisted : []
    if removesUnlisted, retention.isEmpty {
      self.init(
        content.snapshots.reversed().map { Decision(snapshot: $0, reasons: [.noRule]) }, unlisted,
        content.cut,
        of: set)
      return
    }
    let doubtful = Self.doubtful(content.snapshots, known, now: now)
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
      let complete = past.first { $0.isComplete && !doubtful.contains($0.name) }
      if let complete, reasons[complete.name]?.isEmpty == true {
        reasons[complete.name] = [.newestComplete]
      }
      let trusted = past.first { snapshot in
        snapshot.footer.isVerified && !doubtful.contains(snapshot.name)
          && content.faults(of: snapshot).isEmpty
          && suspects.isDisjoint(with: snapshot.footer.needs.keys)
          && !suspects.contains(snapshot.name.stamp)
      }
      if let trusted { reasons[trusted.name, default: []].append(.newestVerified) }
      if let newest = past.first(where: { known.contains($0.name.stamp) }), newest.name != trusted?.name {
        reasons[newest.name, default: []].append(.newestKnown)
      }
    }
    self.init(
      content.snapshots.reversed().map { Decision(snapshot: $0, reasons: reasons[$0.name] ?? []) }, unlisted,
      content.cut, of: set)
  }

  /// - Parameter cut: snapshots whose runs were cut; they stay until a later run of their series is complete.
  private init(
    _ decisions: [Decision], _ unlisted: [SnapshotName], _ cut: [Snapshot], of set: BackupSet
  ) {
    (self.decisions, self.unlisted, self.cut, self.set) = (decisions, unlisted, cut, set)
    let kept = decisions.filter { !$0.reasons.isEmpty }.map(\.snapshot) + cut
    let needed = Self.archives(neededBy: kept)
    archives = Self.archives(neededBy: decisions.filter(\.reasons.isEmpty).map(\.snapshot))
      .subtracting(needed).union(unlisted).sorted { $0.stamp < $1.stamp }
  }

  /// The same decisions, except that some snapshots are kept.
  ///
  /// - Parameter planned: a snapshot that counted for the rules and does not exist yet.
  func keeping(_ names: Swift.Set<SnapshotName>, without planned: SnapshotName) -> Prune {
    Prune(
      decisions.filter { $0.snapshot.name != planned }.map { decision in
        guard decision.reasons.isEmpty, names.contains(decision.snapshot.name) else { return decision }
        return Decision(snapshot: decision.snapshot, reasons: [.untilNext])
      }, unlisted, cut, of: set)
  }

  /// Removes snapshots whose runs were cut, and that a later one of their series has replaced, and no other ones.
  ///
  /// - Parameter content: without the removed ones among those that were cut, and with the later one.
  static func replaced(_ cut: [Snapshot], of set: BackupSet, in content: BackupSet.Content) -> Prune {
    Prune(
      cut.map { Decision(snapshot: $0, reasons: []) }
        + content.snapshots.map { Decision(snapshot: $0, reasons: [.noRule]) }, [], content.cut, of: set)
  }

  private static func archives(neededBy snapshots: [Snapshot]) -> Swift.Set<SnapshotName> {
    snapshots.reduce(into: []) { $0.formUnion($1.archives) }
  }

  /// Snapshots that may have been added by somebody without a key, and so do not count as verified: those from the future, and
  /// encrypted ones, of which only the companion is known, after the last gap in the sequence numbers.
  ///
  /// - Parameter snapshots: in the order of their numbers.
  static func doubtful(
    _ snapshots: [Snapshot], _ known: Set<String>, now: Int64
  ) -> Swift.Set<SnapshotName> {
    let gap = snapshots.indices.dropFirst().last { index in
      snapshots[index].header.sequence - snapshots[index - 1].header.sequence > 1
    }
    return Swift.Set(
      snapshots.indices.filter { index in
        let snapshot = snapshots[index]
        return !known.contains(snapshot.name.stamp)
          && (snapshot.isFuture(at: now)
            || (!snapshot.isOpened && gap.map { index >= $0 } == true))
      }.map { snapshots[$0].name })
  }

  /// Whether a snapshot that stays has, or needs, the file that a damaged one was before it was repaired.
  package func needs(_ damaged: PathBytes) -> Bool {
    guard let name = SnapshotName.ofDamaged(damaged) else { return true }
    let kept = decisions.filter { !$0.reasons.isEmpty }.map(\.snapshot) + cut
    return kept.contains { $0.name == name || $0.archives.contains(name) }
  }

  package var removed: [Snapshot] { decisions.filter(\.reasons.isEmpty).map(\.snapshot) }
  /// The snapshots that are kept since their times are in the future.
  package var future: [Snapshot] { decisions.filter { $0.reasons.contains(.future) }.map(\.snapshot) }

  /// The archives to remove, each with its companion, which has the only digest of an encrypted archive.
  var files: [PathBytes] {
    archives.flatMap { $0.isEncrypted ? [$0.companion, $0.archive] : [$0.archive] }
  }

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
    guard !removed.isEmpty || !archives.isEmpty else { return }
    try checkManifests(in: run)
    let folder = try SetFolder(set, in: run)
    try lock.take(.removing, patience, run.cancellation)
    defer { lock.release(.removing) }
    let parity = try SetParity(set, in: run)
    let files = try parity.names(of: archives.map(\.archive)) + files
    // Before the manifests, since a repair would bring them back.
    try parity.remove(of: removed.map(\.name.manifest), isSynced: isSynced)
    var isNoted = try Self.note(files, lock)
    // The oldest first, so that the newest ones remain after an interruption.
    for snapshot in removed.reversed() {
      try folder.remove(snapshot.name.manifest)
      if !isNoted {
        if isSynced { try folder.sync() }
        isNoted = try Self.note(files, lock)
      }
    }
    if isSynced { try folder.sync() }
    for file in files { try folder.remove(file) }
    if isSynced { try folder.sync() }
    _ = try Self.note([], lock)
  }

  /// Records the files that are removed after the manifests.
  ///
  /// - Returns: false on a full disk. Then the record is written when a manifest was removed; without it, an interruption leaves
  ///   an archive that no snapshot needs.
  private static func note(_ files: [PathBytes], _ lock: SetLock) throws(BatchError) -> Bool {
    do throws(BatchError) {
      try lock.note(files)
      return true
    } catch {
      guard error.isOutOfSpace else { throw error }
      return false
    }
  }

  /// Compares all manifests with their digests before anything is removed.
  ///
  /// - Throws: `malformed` when one is damaged: the archives that it needs are unknown.
  func checkManifests(in run: RunContext) throws(BatchError) {
    guard !removed.isEmpty || !archives.isEmpty else { return }
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

  /// The content of the set for the decision. The companions are compared with those manifests that the keys open.
  ///
  /// - Throws: `malformed` when a manifest is not valid: the archives that it needs are unknown.
  package func prunable(in run: RunContext) throws(BatchError) -> Content {
    var content = try content(in: run)
    if let damaged = content.damaged.first { throw Self.nothingIsRemoved(because: damaged) }
    guard keys != nil else { return content }
    do throws(BatchError) {
      content.snapshots = try content.snapshots.map { (snapshot) throws(BatchError) in
        do throws(BatchError) {
          return try opened(snapshot, in: run)
        } catch {
          // As without keys: the companion says what it needs, and the digest of the manifest.
          guard error.code == .unsupported else { throw error }
          return snapshot
        }
      }
    } catch {
      try run.cancellation.check()
      throw Self.nothingIsRemoved(because: error)
    }
    return content
  }

  static func nothingIsRemoved(because damaged: BatchError) -> BatchError {
    BatchError(
      damaged.code, "nothing is removed while a manifest is not valid: \(damaged.message)",
      path: damaged.path, errno: damaged.errno,
      remedy: damaged.remedy ?? "remove this manifest if its snapshot is not needed")
  }

  /// Whether a damaged file that a repair kept was replaced, so that the repaired one is there.
  package func isReplaced(_ file: PathBytes) -> Bool {
    guard let name = SnapshotName.withoutDamaged(file) else { return false }
    return (try? path(name).status())?.kind == .regular
  }

  /// Removes files of the folder.
  ///
  /// - Throws: `unwritable`.
  package func remove(_ files: [PathBytes], isSynced: Bool, in run: RunContext) throws(BatchError) {
    guard !files.isEmpty else { return }
    let folder = try SetFolder(self, in: run)
    for file in files { try folder.remove(file) }
    if isSynced { try folder.sync() }
  }
}
