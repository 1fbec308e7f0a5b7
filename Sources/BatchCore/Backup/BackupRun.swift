import BatchEngine
import BatchOutputs

/// What a backup is asked for.
package struct BackupOptions: Sendable {
  package var archive = ArchiveOptions(format: .tarZstandard)
  /// Every so many snapshots one is full.
  package var fullEvery: UInt64 = 7
  /// Whether this one is full in any case.
  package var isFull = false
  /// Whether unchanged files are read too, and archived when their content is another one.
  package var readsEverything = false
  /// Whether a source that is missing its files, or has another file system, is taken as it is.
  package var allowsEmpty = false
  package var isSynced = true
  /// What chooses among the files, as one word that is the same for the same choice.
  package var selection = ""
  package var patience = SetLock.Patience.none
  /// Whether the set begins in its directory.
  package var initializes = false
  /// The file that notes which sets this machine has used; nil for none.
  package var state: PathBytes?
  /// The directory of this machine's copies of encrypted manifests; nil for none.
  package var copies: PathBytes?
  /// Who can open what is written; nil where it is not encrypted.
  package var lock: AgeLock?
  /// The same as one word, empty where it is not encrypted.
  package var recipients: String { lock?.word ?? "" }
  /// The clock of the machine, which names snapshots.
  package var now: @Sendable () -> FileStatus.Time = { .now }
  /// The clock by which file systems note changes.
  package var fileClock: @Sendable () -> FileStatus.Time = { .now }

  package init() {}
}

/// One backup from its lock to the names of its two files.
///
/// The archive gets its name first, and the snapshot exists when its manifest has one. Before that the lock notes the
/// name of the archive, so that the next run removes it when this one is interrupted in between.
package final class BackupRun: Sendable {
  package let set: BackupSet
  package let job: BackupJob
  /// The file that is read back.
  package var archive: OutputFile { outputs.archive }
  /// What the archive is encrypted by; nil where it is not.
  package var encryption: EncryptedOutput? { outputs.encryption?.archive }
  package let lock: SetLock
  private let outputs: SnapshotOutputs
  private let copies: ManifestCopies?
  private let isSynced: Bool
  private let preparation: BackupPreparation
  private let run: RunContext
  /// What is worth to be said about the directory of the set.
  package let note: BatchError?
  /// What keeps the machine from recognizing the directory.
  package let warnings: [BatchError]

  /// Takes the lock of the set, looks at what is there, and opens the files.
  ///
  /// - Parameters:
  ///   - paths: one or more.
  ///   - report: receives every member that is archived.
  /// - Throws: `locked` when another run has the set, `missing` or `invalid` for a source that cannot be right,
  ///   `unwritable` when the folder takes no files.
  package init(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, in run: RunContext,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.set = set
    self.run = run
    let target = try BackupTarget(set, state: options.state, isNew: options.initializes, in: run)
    note = target.note
    try target.make(isSynced: options.isSynced, in: run)
    lock = try set.lockForWriting(options.patience, in: run)
    StaleTemporaries.remove(in: set.directory, calls: run.calls)
    preparation = try BackupPreparation(
      paths, to: set, options: options, content: try set.content(in: run), in: run)
    warnings = [target.warning, try target.settle(isSynced: options.isSynced, in: run)].compactMap { $0 }
    let header = preparation.header
    try lock.note(Array(header.name.files.dropLast()))
    isSynced = options.isSynced
    copies = header.name.isEncrypted ? ManifestCopies(options.copies, of: set) : nil
    outputs = try SnapshotOutputs(
      header, of: set, lock: options.lock, copy: try copies?.path(of: header.name, in: run),
      isSynced: options.isSynced, in: run)
    job = BackupJob(preparation.plan, outputs, report: report)
  }

  package var header: SnapshotHeader { preparation.header }
  /// What made this snapshot a full one, or is odd about the set.
  package var remarks: [BatchError] { preparation.remarks }
  /// The paths of the sources, from the root.
  package var paths: [PathBytes] { preparation.paths }

  /// - Parameter walk: takes everything.
  package func source(_ walk: WalkOptions, in run: RunContext) throws(BatchError) -> BackupSource {
    try preparation.source(walk, in: run)
  }

  /// Gives the files their names, the manifest last.
  ///
  /// - Parameter content: what was written.
  /// - Throws: `unwritable`; then there is no snapshot.
  package func complete(_ content: BackupContent) throws(BatchError) {
    try archive.finish()
    do throws(BatchError) {
      if let encryption = outputs.encryption { try describe(encryption, content) }
      try outputs.manifest.finish()
    } catch {
      // Without its manifest it is no part of a snapshot; the manifest is there when only its folder could not be synced.
      if !exists(header.name.manifest) {
        for file in header.name.files.dropLast() { try? SetFolder(set, in: run).remove(file) }
      }
      throw error
    }
    copies?.removeOthers(than: header.name, in: run)
    try lock.note([])
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

  /// Removes the files.
  package func discard() {
    outputs.discard()
    // An archive that is there without a manifest is for the next run, which reads the note.
    if header.name.files.dropLast().allSatisfy({ !exists($0) }) { try? lock.note([]) }
  }

  private func exists(_ file: PathBytes) -> Bool {
    (try? set.path(file).status()) != nil
  }
}

extension BackupOptions {
  /// A word for what chooses among the files.
  package static func word(of choices: [String]) throws(BatchError) -> String {
    guard !choices.isEmpty else { return "" }
    return try withBytes(of: Array(choices.joined(separator: "\n").utf8)) { (raw) throws(BatchError) in
      String(try DigestStream(.sha256).digest(of: raw).hex.prefix(16))
    }
  }
}
