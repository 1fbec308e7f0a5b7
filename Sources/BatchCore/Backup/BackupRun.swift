import BatchEngine
import BatchOutputs

package struct BackupOptions: Sendable {
  package var archive = ArchiveOptions(format: .tarZstandard)
  /// One of this many snapshots is a full one; nil if only the first one is.
  package var fullEvery: UInt64?
  /// Whether this snapshot is always a full one.
  package var isFull = false
  /// Whether seemingly unchanged files are read too, and archived if their content has changed.
  package var readsEverything = false
  /// Whether the bytes of a file that changed without its status are archived (with `readsEverything`). Otherwise the snapshot
  /// keeps the content of the one before.
  package var acceptsRot = false
  /// Whether a source that lost its files is accepted.
  package var allowsEmpty = false
  /// Whether a source is accepted that is on another file system and has no file of the snapshot before.
  package var allowsOtherFileSystem = false
  /// Whether a snapshot may be unencrypted although the newest one of the set is encrypted.
  package var allowsPlain = false
  package var isSynced = true
  /// The file selection of the options, as one word, equal for equal selections.
  package var selection = ""
  /// The absolute paths of the files that the walk excludes by their identities: the outputs of the run. Nil if unknown.
  package var ownFiles: [PathBytes]?
  /// What the file selection leaves out.
  var filter: SnapshotFilter?
  package var patience = SetLock.Patience.none
  /// Whether the set is created in its directory.
  package var initializes = false
  /// Of an encrypted archive without a manifest, of which less than this is needed, everything needed is stored again if no key is
  /// there to compact it; in percent, 0 for never.
  package var leastUsed = 0
  /// After this many bytes of files what was done becomes a snapshot that was cut, which the next run continues; nil for never.
  package var checkpoint: UInt64?
  /// As `checkpoint`, after this time.
  package var checkpointTime: Duration?
  /// Asks the run to end early with what it has; nil if it is never asked.
  package var stop: StopRequest?
  /// The snapshots that this run has made so far, each of which was cut; the newest one is continued.
  package var earlier: [SnapshotName] = []
  /// The lock of the set, if the run has it already.
  package var heldLock: SetLock?
  /// The file that records which sets this machine has used; nil for none.
  package var state: StatePlace?
  /// The directory of this machine's copies of encrypted manifests; nil for none.
  package var copies: StatePlace?
  /// The encryption of the snapshot; nil if it is not encrypted.
  package var lock: AgeLock?
  /// The recipients as one word, empty if not encrypted.
  package var recipients: String { lock?.word ?? "" }
  /// What makes a series: the previous snapshot is the newest one of the same series.
  package var grouping = Series.Grouping.hostAndSources
  /// The machine that makes the snapshot.
  package var machine: @Sendable () throws(BatchError) -> Machine = { () throws(BatchError) in try .current()
  }
  /// The rules by which old snapshots are removed before anything is archived; empty for none.
  package var retentionBefore = Retention()
  /// The folders to which the set is copied afterwards.
  package var copyFolders: [PathBytes] = []
  /// How much recovery data are made of the archive; those of the manifest are at least as much as it. Nil for none.
  package var parity: ParityOptions?
  /// The clock of the machine, used for the names of snapshots.
  package var now: @Sendable () -> FileStatus.Time = { .now }
  /// The clock that file systems use for their times.
  package var fileClock: @Sendable () -> FileStatus.Time = { .now }

  package init() {}
}

/// One backup, from taking the lock to renaming its two files.
///
/// The archive is renamed first; the snapshot exists once its manifest is renamed too. Before that, the lock file records the
/// name of the archive, so that the next run removes the archive if this run is interrupted in between.
package final class BackupRun: Sendable {
  package let set: BackupSet
  package let job: BackupJob
  /// The archive, which is read back.
  package var archive: OutputFile { outputs.archive }
  /// The encryption of the archive; nil if it is not encrypted.
  package var encryption: EncryptedOutput? { outputs.encryption?.archive }
  package let lock: SetLock
  private let outputs: SnapshotOutputs
  private let copies: ManifestCopies?
  private let parity: ParityOptions?
  private let isSynced: Bool
  private let patience: SetLock.Patience
  package let preparation: BackupPreparation
  private let run: RunContext
  /// A note about the directory of the set.
  package let note: BatchError?
  /// Why the machine cannot recognize the directory later, and why old snapshots were not removed first.
  package let warnings: [BatchError]
  /// The snapshots that were removed before anything was archived.
  package let removedBefore: [Snapshot]

  /// Takes the lock of the set, reads its content, and opens the output files.
  ///
  /// - Parameters:
  ///   - paths: one or more.
  ///   - walk: the options of the walk, which may leave out mount points below the sources.
  /// - Throws: `locked` when another run has the lock, `missing` or `invalid` for a source that is missing or implausible,
  ///   `unwritable` when no files can be created in the folder.
  package static func prepare(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, walk: WalkOptions = WalkOptions(),
    in run: RunContext,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) -> BackupRun {
    try BackupRun(paths, to: set, options: options, walk: walk, in: run, report: report)
  }

  private init(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, walk: WalkOptions, in run: RunContext,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.set = set
    self.run = run
    let sources = try SourceGuard.sources(paths)
    var options = options
    options.filter = SnapshotFilter(
      walk,
      ownFiles: options.ownFiles?.filter { file in
        sources.contains { file.bytes.starts(with: $0.path.appending([]).bytes) }
      })
    let target = try BackupTarget(set, state: options.state, isNew: options.initializes, in: run)
    note = target.note
    // Before a folder is created, which could be the source itself.
    try SourceGuard.refuse(set.directory, among: sources)
    try target.make(isSynced: options.isSynced, in: run)
    if let held = options.heldLock {
      lock = held
    } else {
      lock = try set.lockForWriting(options.patience, in: run)
    }
    StaleTemporaries.remove(in: set.directory, calls: run.calls)
    preparation = try BackupPreparation.prepare(
      paths, to: set, options: options, content: try set.content(in: run), in: run)
    var warnings = [target.warning, try target.settle(isSynced: options.isSynced, in: run)].compactMap { $0 }
    var removed = [Snapshot]()
    if !options.retentionBefore.isEmpty {
      try preparation.checkMounts(walk, in: run)
      do throws(BatchError) {
        removed = try preparation.removeBefore(lock, options, in: run)
      } catch {
        try run.cancellation.check()
        warnings.append(error)
      }
    }
    (self.warnings, removedBefore) = (warnings, removed)
    let header = preparation.header
    try lock.note(Array(header.name.files.dropLast()))
    (isSynced, parity) = (options.isSynced, options.parity)
    patience = options.patience
    copies = header.name.isEncrypted ? ManifestCopies(options.copies, of: set) : nil
    outputs = try SnapshotOutputs(
      header, of: set, lock: options.lock, copies: copies,
      isSynced: options.isSynced, in: run)
    job = BackupJob(preparation.plan, outputs, report: report)
  }

  package var header: SnapshotHeader { preparation.header }

  /// Renames the files to their final names, the manifest last.
  ///
  /// - Throws: `unwritable`; then the snapshot does not exist.
  package func complete(_ content: BackupContent) throws(BatchError) {
    if let former = preparation.furtherCut(than: content.footer) {
      throw BatchError(
        .cancelled,
        "nothing of this run is kept: the incomplete snapshot \(former.name.stamp) reached further")
    }
    let recovery = try recoveryData()
    // Without a manifest these files are no snapshot, and the next run removes them.
    let others = Array(header.name.files.dropLast()) + recovery.flatMap(\.lastNames)
    if !recovery.isEmpty { try lock.note(others) }
    try archive.finish()
    do throws(BatchError) {
      for written in recovery {
        try written.commit(.init(permissions: 0o600), isSynced: isSynced, by: run.commits)
      }
      if let encryption = outputs.encryption { try describe(encryption, content) }
      if preparation.needsMarker { try writeMarker() }
      try outputs.blocks?.finish()
      try outputs.manifest.finish()
    } catch {
      // Without its manifest the archive is not part of a snapshot. The manifest exists if only the sync of its folder failed.
      if !exists(header.name.manifest) {
        for file in others { try? SetFolder(set, in: run).remove(file) }
      }
      throw error
    }
    let heads = preparation.stampsOfOtherHeads(after: content.footer).union([header.name.stamp])
    copies?.removeOthers(than: heads, in: run)
    removeBlocks(except: heads)
    try lock.note([])
    try? preparation.removeReplaced(by: content, lock, patience, isSynced: isSynced, in: run)
  }

  /// Computes recovery data of archive and manifest, which get their names after the archive and before the manifest.
  private func recoveryData() throws(BatchError) -> [WrittenParity] {
    guard let parity else { return [] }
    var written: [WrittenParity] = []
    for (output, options) in [(archive, parity), (outputs.manifest, parity.ofManifest)] {
      if let one = try WrittenParity.of(output, options, isReplacing: true, run) { written.append(one) }
    }
    return written
  }

  /// Removes the files of blocks that no next backup reads.
  private func removeBlocks(except heads: Set<String>) {
    guard let files = try? run.calls.names(in: set.directory), let folder = try? SetFolder(set, in: run)
    else {
      return
    }
    for file in files {
      guard let name = SnapshotName(file: file.bytes, set: set.name, suffix: SnapshotName.blocksSuffix),
        !heads.contains(name.stamp)
      else { continue }
      try? folder.remove(file)
    }
  }

  /// Writes a manifest without rows beside the first one that is compressed. Earlier versions of this program do not see compressed
  /// manifests, and would remove archives that these need; they refuse to remove anything beside a manifest of a newer version.
  private func writeMarker() throws(BatchError) {
    let file = try OutputFile(
      set.path(header.name.marker), isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    try file.write(BackupSet.marker(of: header))
    try file.finish()
  }

  /// Writes the companion of an encrypted snapshot, and this machine's copy of its manifest.
  private func describe(
    _ encryption: (archive: EncryptedOutput, manifest: EncryptedOutput), _ content: BackupContent
  ) throws(BatchError) {
    guard let archive = encryption.archive.digest, let manifest = encryption.manifest.digest else {
      throw BatchError(.invalid, "the encrypted files have no digests")
    }
    let companion = Companion(
      content.header, content.footer, archive: (encryption.archive.size, archive),
      manifest: (encryption.manifest.size, manifest))
    if let copy = outputs.copy {
      try copy.finish()
      try copies?.note(manifest, of: header.name, isSynced: isSynced, in: run)
    }
    let file = try OutputFile(
      set.path(header.name.companion), isReplacing: false, isSynced: isSynced, isPrivate: true, in: run)
    try file.write(try companion.bytes())
    try file.finish()
  }

  package func discard() {
    outputs.discard()
    // The next run reads the record and removes an archive without a manifest.
    if header.name.files.dropLast().allSatisfy({ !exists($0) }) { try? lock.note([]) }
  }

  private func exists(_ file: PathBytes) -> Bool {
    (try? set.path(file).status()) != nil
  }
}

extension BackupOptions {
  /// A word for a file selection.
  package static func word(of choices: [String]) throws(BatchError) -> String {
    guard !choices.isEmpty else { return "" }
    return String(try Digest.sha256(of: Array(choices.joined(separator: "\n").utf8)).hex.prefix(16))
  }
}
