import BatchEngine

/// Copies the snapshots of a set to a remote, and then removes copies that no rule keeps.
package struct CopyCall: Call {
  private let open: (RunContext) throws(BatchError) -> BackupSet
  private let remote: PathBytes
  /// A directory for small temporary files.
  private let temporary: PathBytes
  /// Whether existing files are read and compared.
  package var comparesContents = false
  /// Whether unencrypted snapshots are copied too if others are encrypted.
  package var allowsPlain = false
  /// Which copies are kept; without rules all are.
  package var retention = Retention()
  package var grouping = Series.Grouping.hostAndSources
  /// A snapshot of the only series whose copies are removed; nil for all series.
  package var own: SnapshotName?
  /// Whether the remote refuses removals, which then do not count as failures.
  package var isAppendOnly = false
  package var isSynced = true
  /// Archives of a directory become smaller when copies are removed there; as ``PruneCall/leastUsed``.
  package var leastUsed = PruneCall.usualLeastUsed
  /// How much recovery data are made of copies in a directory that have none; nil for none.
  package var parity: ParityOptions?
  /// How long to wait while another run removes archives; nil if the set is locked already.
  package var patience: SetLock.Patience?

  /// - Parameters:
  ///   - remote: `NAME:path` is for rclone; everything else is a directory.
  ///   - open: opens the set; called once.
  package init(
    to remote: PathBytes, temporary: PathBytes,
    of open: @escaping (RunContext) throws(BatchError) -> BackupSet
  ) {
    (self.remote, self.temporary, self.open) = (remote, temporary, open)
  }

  package struct Result: CallResult {
    package let copied: SetCopy.Outcome
    /// Copies that were removed.
    package fileprivate(set) var removed: [Snapshot] = []
    /// Copies that are kept since their times are in the future.
    package fileprivate(set) var future: [Snapshot] = []
    /// How many files there got recovery data.
    package fileprivate(set) var protected = 0
    /// Archives that became smaller there.
    package fileprivate(set) var compacted: [CompactedArchive] = []
    /// Whether the removal failed.
    fileprivate(set) var isUnpruned = false

    package var findings: [String: Int] {
      [
        "problems": copied.problems + (isUnpruned ? 1 : 0),
        "damaged": copied.problems, "copies": copied.files + copied.equal,
      ]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    let failed = (tally.findings["problems"] ?? 0) > 0
    return CallVerdict()
      .adding(.nothing, if: (tally.findings["damaged"] ?? 0) > 0 && tally.findings["copies"] == 0)
      .adding(.someFailed, if: failed)
  }

  /// Reports the name of each copied file. Snapshots that are not copied are reported as problems of the run.
  ///
  /// - Throws: the error of opening the set; `locked`. The errors of the remote end the run.
  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (PathBytes) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let set = try open(run)
    let lock = try patience.flatMap { (patience) throws(BatchError) in
      try set.lockForReading(patience, in: run)
    }
    return Prepared { () throws(BatchError) in
      defer { withExtendedLifetime(lock) {} }
      let remote = Remotes.remote(remote, isSynced: isSynced, temporary: temporary, in: run)
      var copy = SetCopy(
        set, to: remote, comparesContents: comparesContents, allowsPlain: allowsPlain,
        temporary: self.temporary, in: run,
        isWhole: { (name, index) throws(BatchError) in try isWhole(name, of: set, index: index, in: run) }
      ) {
        run.report(Problem(.unreadable, $0), severity: .failure)
      }
      var result = Result(copied: try copy.copy(report: report))
      if !retention.isEmpty, result.copied.problems == 0 { try prune(remote, of: set, in: run, &result) }
      if let parity { result.protected = try protectCopies(of: set, parity, in: run) }
      return result
    }
  }

  /// Whether all checksums in an unencrypted archive are correct.
  ///
  /// - Parameter index: the digest of its index in the manifest of its snapshot; nil if that was removed.
  private func isWhole(
    _ name: SnapshotName, of set: BackupSet, index: Digest?, in run: RunContext
  ) throws(BatchError) -> Bool {
    let part = RunContext(sharing: run, stride: .automatic, observer: nil)
    var archive = ReadArchive(set.path(name.archive))
    archive.isOfSet = true
    do throws(BatchError) {
      let outcome = try VerifyCall(archive).perform(.items([]), in: part, watchedBy: Unwatched()) { _ in }
      if let stopped = outcome.summary.stopped { throw stopped }
      guard let found = outcome.result, !found.isDifferent else { return false }
      return index == nil || index == found.indexDigest
    } catch {
      try run.cancellation.check()
      guard error.code == .malformed else { throw error }
      return false
    }
  }

  private func prune(
    _ remote: any Remote, of set: BackupSet, in run: RunContext, _ result: inout Result
  ) throws(BatchError) {
    do throws(BatchError) {
      let copies = try RemoteSet(remote, named: set.name, keys: nil, temporary: temporary, in: run)
      (result.removed, result.future) = try copies.prune(retention, of: set, by: grouping, only: own)
      if !BackupTarget.isRemote(self.remote), !isAppendOnly {
        result.compacted = try compactCopies(of: set, in: run)
      }
    } catch {
      try run.cancellation.check()
      let isAllowed = isAppendOnly && error.code == .unwritable
      run.report(Problem(.unreadable, error), severity: isAllowed ? .warning : .failure)
      result.isUnpruned = !isAllowed
    }
  }

  /// Makes recovery data in a directory of copies.
  ///
  /// - Returns: of how many files.
  /// - Throws: `invalid` for a remote of rclone, of which no file is read; `locked` when another run writes to the copies.
  private func protectCopies(
    of set: BackupSet, _ parity: ParityOptions, in run: RunContext
  ) throws(BatchError) -> Int {
    guard !BackupTarget.isRemote(remote) else {
      throw BatchError(.invalid, "is no directory: recovery data cannot be made there", path: remote)
    }
    let copies = try BackupSet(in: remote, named: set.name)
    let lock = try copies.lockForPruning(patience ?? .none, in: run)
    defer { withExtendedLifetime(lock) {} }
    return try copies.protect(parity, isSynced: isSynced, in: run)
  }

  /// By the manifests of the directory alone.
  private func compactCopies(of set: BackupSet, in run: RunContext) throws(BatchError) -> [CompactedArchive] {
    let copies = try BackupSet(in: remote, named: set.name)
    guard leastUsed > 0, try copies.content(in: run).hasPlainArchivesToCompact else { return [] }
    let lock: SetLock
    do throws(BatchError) {
      lock = try copies.lockForPruning(.none, in: run)
    } catch {
      guard error.code == .locked else { throw error }
      run.report(
        Problem(
          .unreadable, BatchError(.locked, "the copies are not compacted: \(error.message)", path: remote)),
        severity: .warning)
      return []
    }
    defer { withExtendedLifetime(lock) {} }
    return try PruneCall.compact(
      copies, copies.prunable(in: run), leastUsed, (lock, .none), isSynced: isSynced, in: run)
  }
}
