import BatchEngine
import BatchOutputs

/// A place that stores copies of snapshots.
package protocol Remote: Sendable {
  /// The place as the user wrote it.
  var place: PathBytes { get }

  /// The names of the files of sets, with their sizes in bytes; empty if the place does not exist. Other names are left out: the
  /// remote is not trusted, and names become those of local files.
  func files() throws(BatchError) -> [PathBytes: UInt64]

  /// How many files can be copied at once to advantage.
  var mostTransfers: Int { get }

  /// Copies a local file. Called on several threads at once.
  ///
  /// - Parameter isNew: whether the remote has no file with this name, which saves a question; otherwise the file is replaced.
  func put(_ file: PathBytes, as name: PathBytes, isNew: Bool) throws(BatchError)

  /// Copies files of a local folder, whose names the remote does not have, one after the other in this order. After an error some
  /// of them may be there.
  func put(new names: [PathBytes], from folder: PathBytes) throws(BatchError)

  /// Copies files into a local directory.
  ///
  /// - Throws: `missing` for a file that is not there.
  func fetch(_ names: [PathBytes], into folder: PathBytes) throws(BatchError)

  /// A part of a file; shorter only at its end.
  func part(_ range: Range<UInt64>, of name: PathBytes) throws(BatchError) -> [UInt8]

  /// The SHA-256 of a file; reads the file.
  func digest(of name: PathBytes) throws(BatchError) -> Digest?

  /// - Throws: `unwritable` when it cannot be removed.
  func remove(_ name: PathBytes) throws(BatchError)
}

/// The kinds of remotes: directories, and remotes of rclone.
package enum Remotes {
  /// `NAME:path` is for rclone, as for `BackupTarget`; everything else is a directory.
  ///
  /// - Parameter temporary: a directory for small files.
  package static func remote(
    _ place: PathBytes, isSynced: Bool, temporary: PathBytes, in run: RunContext
  ) -> any Remote {
    BackupTarget.isRemote(place)
      ? RcloneRemote(place, temporary: temporary, in: run) : FolderRemote(place, isSynced: isSynced, in: run)
  }

  /// Copies a local file, under a temporary name until it is complete.
  static func copy(
    _ source: PathBytes, to target: PathBytes, isSynced: Bool, in run: RunContext
  ) throws(BatchError) {
    let content = try ManifestContent(ManifestFile(source), isRaw: true, in: SourceContext(run))
    let file = try OutputFile(target, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    do throws(BatchError) {
      try content.forEachPiece(run.cancellation, file.write)
      try file.finish()
    } catch {
      file.discard()
      throw error
    }
  }
}

/// A directory, such as a removable disk or a network file system.
struct FolderRemote: Remote {
  let place: PathBytes
  private let isSynced: Bool
  private let run: RunContext
  /// Each is synced before the next one.
  let mostTransfers = 1

  init(_ place: PathBytes, isSynced: Bool, in run: RunContext) {
    self.place = place
    self.isSynced = isSynced
    self.run = run
  }

  func files() throws(BatchError) -> [PathBytes: UInt64] {
    let names: [PathBytes]
    do throws(BatchError) {
      names = try run.calls.names(in: place)
    } catch {
      guard error.isNotFound else { throw error }
      return [:]
    }
    return names.reduce(into: [:]) { files, name in
      guard SnapshotName.isOfSet(name), let status = try? place.appending(name.bytes).status(),
        status.kind == .regular
      else { return }
      files[name] = UInt64(clamping: status.size)
    }
  }

  func put(_ file: PathBytes, as name: PathBytes, isNew: Bool) throws(BatchError) {
    try FolderMaker(calls: run.calls, isSynced: isSynced).make(place)
    try Remotes.copy(file, to: place.appending(name.bytes), isSynced: isSynced, in: run)
  }

  func put(new names: [PathBytes], from folder: PathBytes) throws(BatchError) {
    for name in names { try put(folder.appending(name.bytes), as: name, isNew: true) }
  }

  func fetch(_ names: [PathBytes], into folder: PathBytes) throws(BatchError) {
    for name in names {
      try Remotes.copy(
        place.appending(name.bytes), to: folder.appending(name.bytes), isSynced: false, in: run)
    }
  }

  func part(_ range: Range<UInt64>, of name: PathBytes) throws(BatchError) -> [UInt8] {
    let content = try ManifestContent(
      ManifestFile(place.appending(name.bytes)), isRaw: true, in: SourceContext(run))
    return try content.bytes(Int64(clamping: range.lowerBound)..<Int64(clamping: range.upperBound))
  }

  func digest(of name: PathBytes) throws(BatchError) -> Digest? {
    try BackupSet.digest(of: place.appending(name.bytes), in: run)
  }

  func remove(_ name: PathBytes) throws(BatchError) {
    try SetFolder(place, in: run).remove(name)
  }
}
