import BatchEngine
import BatchOutputs

/// This machine's copies of the manifests of an encrypted set, which it uses to detect changes.
///
/// Beside a copy is a file with the SHA-256 of the encrypted manifest that was written with it. The names of both contain the
/// id of the set and the stamp of the snapshot, so they can be written before the snapshot exists.
struct ManifestCopies {
  private let place: StatePlace
  private let id: String
  private let set: BackupSet

  /// - Returns: nil if the machine has no place for them, or the set has no id.
  init?(_ place: StatePlace?, of set: BackupSet) {
    guard let place, let id = SetID.read(set.idPath) else { return nil }
    self.place = place
    self.id = id
    self.set = set
  }

  private func path(
    _ name: SnapshotName, _ suffix: String, in folder: PathBytes? = nil
  ) -> PathBytes {
    (folder ?? place.path).appending("\(id)-\(name.stamp)\(suffix)".utf8)
  }

  /// The path for the copy of a new manifest; creates the directory.
  func path(of name: SnapshotName, in run: RunContext) throws(BatchError) -> PathBytes {
    try FolderMaker(calls: run.calls, isSynced: true).make(place.path)
    return path(name, name.manifestSuffix)
  }

  /// The path for the blocks of the large files of a snapshot.
  func blocks(of name: SnapshotName) -> PathBytes { path(name, SnapshotName.blocksSuffix) }

  /// The blocks of a snapshot: the path of an existing file that only this user, or root, can have written.
  func knownBlocks(of name: SnapshotName) -> PathBytes? {
    place.paths.lazy.map { ($0, path(name, SnapshotName.blocksSuffix, in: $0)) }.first { folder, file in
      StateFile.isSafe(folder) && (try? file.status()) != nil && StateFile.isSafe(file)
    }?.1
  }

  /// Records to which manifest a copy belongs.
  func note(_ digest: Digest, of name: SnapshotName, isSynced: Bool, in run: RunContext) throws(BatchError) {
    let file = try OutputFile(
      path(name, ".sha256"), isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    try file.write(Array("\(digest.hex)\n".utf8))
    try file.finish()
  }

  /// The digest of the manifest that this machine has written for a snapshot; nil if there is none, or another user can have
  /// written it.
  func digest(of name: SnapshotName) -> Digest? {
    place.paths.lazy.compactMap { digest(of: name, in: $0) }.first
  }

  private func digest(of name: SnapshotName, in folder: PathBytes) -> Digest? {
    guard StateFile.isSafe(folder), let noted = try? StateFile.read(path(name, ".sha256", in: folder)) else {
      return nil
    }
    return Digest(.sha256, hex: noted.dropLast())
  }

  /// The copy of the manifest of a snapshot.
  ///
  /// - Returns: nil if there is no copy, or it does not match.
  /// - Throws: `unreadable` for a copy that another user can have written.
  func copy(of snapshot: Snapshot, in run: RunContext) throws(BatchError) -> ManifestFile? {
    let places = place.paths.lazy.map { ($0, path(snapshot.name, snapshot.name.manifestSuffix, in: $0)) }
    guard let (folder, copy) = places.first(where: { (try? $0.1.status()) != nil }) else { return nil }
    for path in [folder, copy] where !StateFile.isSafe(path) {
      throw BatchError(
        .unreadable, "is not used because other users could have written it, so this snapshot is full",
        path: path)
    }
    guard let known = digest(of: snapshot.name, in: folder) else { return nil }
    guard try BackupSet.digest(of: set.path(snapshot.name.manifest), in: run) == known else { return nil }
    return ManifestFile(copy)
  }

  /// - Parameter stamps: of the snapshots whose copies stay.
  func removeOthers(than stamps: Set<String>, in run: RunContext) {
    let prefix = Array("\(id)-".utf8)
    let kept = stamps.map { Array("\(id)-\($0)".utf8) }
    guard let files = try? run.calls.names(in: place.path),
      let directory = try? SetFolder(place.path, in: run)
    else {
      return
    }
    for file in files where file.bytes.starts(with: prefix) {
      guard !kept.contains(where: { file.bytes.starts(with: $0) }) else { continue }
      try? directory.remove(file)
    }
  }
}

extension BackupSet {
  /// The stamps of the encrypted snapshots of which this machine knows that it wrote them.
  package func knownStamps(of snapshots: [Snapshot]) -> Set<String> {
    guard let copies = ManifestCopies(privateFolder, of: self) else { return [] }
    return Set(
      snapshots.filter { snapshot in
        snapshot.companion.map { copies.digest(of: snapshot.name) == $0.manifestDigest } ?? false
      }.map(\.name.stamp))
  }
}
