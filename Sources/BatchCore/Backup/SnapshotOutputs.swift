import BatchEngine
import BatchOutputs

/// The files of a new snapshot, which have no final names yet.
final class SnapshotOutputs: Sendable {
  let archive: OutputFile
  let manifest: OutputFile
  let encryption: (archive: EncryptedOutput, manifest: EncryptedOutput)?
  /// This machine's copy of an encrypted manifest.
  let copy: OutputFile?

  /// - Parameter copy: the path for the copy of an encrypted manifest; nil for none.
  init(
    _ header: SnapshotHeader, of set: BackupSet, lock: AgeLock?, copy: PathBytes?, isSynced: Bool,
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
        try EncryptedOutput(archive, for: lock, digested: true) { concurrency.current },
        try EncryptedOutput(manifest, for: lock, digested: true)
      )
    }
    self.copy = try copy.map { (path) throws(BatchError) in
      try OutputFile(path, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
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
