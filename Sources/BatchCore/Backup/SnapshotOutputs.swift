import BatchEngine
import BatchOutputs

/// The files of a new snapshot, which have no final names yet.
final class SnapshotOutputs: Sendable {
  let archive: OutputFile
  let manifest: OutputFile
  let encryption: (archive: EncryptedOutput, manifest: EncryptedOutput)?
  /// This machine's copy of an encrypted manifest.
  let copy: OutputFile?
  /// The blocks of large files; nil for an encrypted snapshot if this machine has no place for them.
  let blocks: OutputFile?

  /// - Parameter copies: the copies of an encrypted set; nil for none.
  init(
    _ header: SnapshotHeader, of set: BackupSet, lock: AgeLock?, copies: ManifestCopies?, isSynced: Bool,
    in run: RunContext
  ) throws(BatchError) {
    let archive = try OutputFile(
      set.path(header.name.archive), isReplacing: false, isSynced: isSynced, isPrivate: true, in: run)
    let manifest = try OutputFile(
      set.path(header.name.manifest), isReplacing: false, isSynced: isSynced, isPrivate: true, in: run)
    self.archive = archive
    self.manifest = manifest
    let concurrency = run.concurrency
    encryption = try lock.map { (lock) throws(BatchError) in
      (
        try EncryptedOutput(archive, for: lock, digested: true, concurrency: concurrency),
        try EncryptedOutput(manifest, for: lock, digested: true)
      )
    }
    func output(_ path: PathBytes) throws(BatchError) -> OutputFile {
      try OutputFile(path, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    }
    self.copy = try copies.map { (copies) throws(BatchError) in
      try output(copies.path(of: header.name, in: run))
    }
    if header.name.isEncrypted {
      blocks = try copies.map { (copies) throws(BatchError) in try output(copies.blocks(of: header.name)) }
    } else {
      blocks = try output(set.path(header.name.blocks))
    }
  }

  var archiveStream: any ResultStream { encryption?.archive ?? archive }

  var manifestStream: any ResultStream {
    PairedStream(first: encryption?.manifest ?? manifest, second: copy)
  }

  /// Completes the encryption of the archive.
  ///
  /// - Returns: the size of the file.
  func sealArchive() throws(BatchError) -> UInt64 {
    try encryption?.archive.seal()
    return UInt64(clamping: try archive.size() ?? 0)
  }

  func discard() {
    archive.discard()
    manifest.discard()
    copy?.discard()
    blocks?.discard()
  }
}

/// Writes to one stream, and also to a second one if there is one.
private struct PairedStream: ResultStream {
  let first: any ResultStream
  let second: (any ResultStream)?

  func write(_ bytes: [UInt8]) throws(BatchError) {
    try first.write(bytes)
    try second?.write(bytes)
  }

  func finish() throws(BatchError) {
    try first.finish()
    try second?.finish()
  }
}
