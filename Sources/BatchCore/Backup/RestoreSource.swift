import BatchEngine
import BatchOutputs

/// The files of a snapshot that are restored.
package struct RestoreSource {
  /// A snapshot of a set that was opened.
  package struct Opened {
    package let set: BackupSet
    package let content: BackupSet.Content
    /// With all facts of its manifest.
    package let snapshot: Snapshot
    /// Prevents the removal of archives; nil if they cannot be removed, or cannot be locked.
    fileprivate let lock: SetLock?

    package init(_ snapshot: Snapshot, of set: BackupSet, content: BackupSet.Content, lock: SetLock? = nil) {
      (self.snapshot, self.set, self.content, self.lock) = (snapshot, set, content, lock)
    }
  }

  private let open: (RunContext) throws(BatchError) -> Opened
  private let globs: [PathBytes]
  private let areNames: Bool
  let strip: Int
  /// Removes what the snapshot does not have below its sources; nil removes nothing.
  package var removal: RemovalLimit?
  /// Called once, before anything is restored.
  package var announce: (Opened, RestoreReader) -> Void = { _, _ in }

  /// - Parameters:
  ///   - globs: the texts that select paths; none selects all.
  ///   - areNames: whether they are names only.
  ///   - strip: how many leading names of each path are dropped.
  ///   - open: opens the set, and selects the snapshot; called once.
  package init(
    globs: [PathBytes], areNames: Bool, strip: Int,
    from open: @escaping (RunContext) throws(BatchError) -> Opened
  ) {
    (self.globs, self.areNames, self.strip, self.open) = (globs, areNames, strip, open)
  }

  /// A snapshot of a set in a local folder, of which no archive is removed meanwhile.
  ///
  /// - Parameters:
  ///   - name: the set; nil for the only one of the folder.
  ///   - place: the snapshot; nil for the newest one.
  ///   - series: the series among which it is selected, except by id.
  package init(
    globs: [PathBytes], strip: Int, in folder: PathBytes, named name: PathBytes?, at place: SnapshotPlace?,
    of series: SeriesChoice, patience: SetLock.Patience
  ) {
    self.init(globs: globs, areNames: false, strip: strip) { (run) throws(BatchError) in
      let set = try BackupSet(in: folder, named: name, run)
      let lock = try set.lockForReading(patience, in: run)
      let content = try set.content(in: run)
      let snapshot = try set.opened(content.snapshot(at: place, of: series), in: run)
      return Opened(snapshot, of: set, content: content, lock: lock)
    }
  }

  /// - Throws: the error of opening the set; `missing` if archives are missing and the rest is not wanted; `refused` if nothing may
  ///   be removed.
  func reader(
    _ options: ExtractionOptions, in run: RunContext
  ) throws(BatchError) -> (reader: RestoreReader, lock: SetLock?, cleaner: RestoreRemoval?) {
    let opened = try open(run)
    let (set, content, snapshot) = (opened.set, opened.content, opened.snapshot)
    let missing = content.faults(of: snapshot).filter { content.archives[$0] == nil }
    if let fault = missing.first, !options.keepsGoing || missing.count == snapshot.footer.needs.count {
      throw BatchError(
        .missing, "is missing, and the snapshot \(snapshot.name.stamp) needs it",
        path: set.path(fault.archive))
    }
    let reader = try RestoreReader.prepare(
      snapshot, of: set, globs: globs, areNames: areNames, strip: strip, options: options,
      in: SourceContext(run))
    let cleaner = try removal.map { (removal) throws(BatchError) in
      guard strip == 0 else {
        throw BatchError(
          .refused, "nothing is removed where leading names of the paths are dropped",
          path: set.path(snapshot.name.manifest))
      }
      return try RestoreRemoval(
        removal, snapshot, of: set, content, selection: reader.selection, selectsAll: globs.isEmpty,
        unmatched: reader.unmatched, in: run)
    }
    announce(opened, reader)
    return (reader, opened.lock, cleaner)
  }
}

extension BatchError {
  /// What a snapshot does not have because its run was cut; nil for a complete one.
  package init?(cut snapshot: Snapshot) {
    guard snapshot.footer.isCut else { return nil }
    let reached = snapshot.footer.reached
    let list = snapshot.header.sources?.paths ?? []
    let missing = reached.map { reached in list.filter { $0 > reached.source } } ?? []
    let others =
      missing.isEmpty ? "" : ", and nothing of \(missing.map(\.description).joined(separator: ", "))"
    self.init(
      .special,
      "the snapshot \(snapshot.name.stamp) is not complete: it has nothing behind \(reached?.path.description ?? "an unknown path")"
        + others)
  }
}

extension ExtractionOptions {
  /// Changes the defaults to those of a restore: files get all that the snapshot has of them, and damage ends nothing.
  package mutating func restoreEverything() {
    restoresPrivileges = true
    makesDevices = StandardStreams.isRoot
    keepsGoing = true
  }
}

extension BatchError {
  /// A remark about files of a snapshot that may be names of one file; nil if there are none.
  package init?(doubtfulLinksOf reader: RestoreReader, in opened: RestoreSource.Opened) {
    guard reader.doubtfulLinks > 0 else { return nil }
    self.init(
      .special,
      "the manifest of an earlier version does not tell whether \(reader.doubtfulLinks) files are further names of others: they are restored as files of their own",
      path: opened.set.path(opened.snapshot.name.manifest))
  }
}
