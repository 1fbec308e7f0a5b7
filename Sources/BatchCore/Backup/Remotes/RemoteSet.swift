import BatchEngine

/// The snapshots of a set at a remote. Manifests are fetched as a whole, archives only in the parts that are read.
package final class RemoteSet {
  package let remote: any Remote
  package let set: BackupSet
  private let folder: TemporaryFolder
  private let run: RunContext
  private let files: [PathBytes: UInt64]

  /// - Parameters:
  ///   - name: the name of the set; nil for the only one at the remote.
  ///   - temporary: the directory for fetched files.
  /// - Throws: `missing` when there is no set, `invalid` when there are several and no name was given; the error of the remote.
  package init(
    _ remote: any Remote, named name: PathBytes?, keys: AgeKeys?, temporary: PathBytes, in run: RunContext
  ) throws(BatchError) {
    self.remote = remote
    self.run = run
    files = try remote.files()
    folder = try TemporaryFolder(in: temporary, for: "remote", calls: run.calls)
    try remote.fetch(files.keys.filter(Self.describes).sorted(), into: folder.path)
    do throws(BatchError) {
      var set = try BackupSet(in: folder.path, named: name, run)
      set.keys = keys
      let (files, temporary) = (files, try FolderOpener(calls: run.calls).folder(named: temporary))
      set.remoteFile = { (path) throws(BatchError) in
        guard let size = files[PathBytes(path.lastComponent)] else {
          throw BatchError(.missing, "is missing at \(remote.place)", path: path)
        }
        return try RemoteFile(path, size: size, at: remote, temporary: temporary)
      }
      self.set = set
    } catch {
      throw error.path == folder.path ? error.at(remote.place) : error
    }
  }

  /// Whether a file describes a snapshot: a manifest, a marker or a companion.
  private static func describes(_ file: PathBytes) -> Bool {
    let manifest = SnapshotName.of(file).map { $0.manifest == file } ?? false
    return manifest
      || file.bytes.suffix(SnapshotName.companionSuffix.utf8.count).elementsEqual(
        SnapshotName.companionSuffix.utf8)
  }

  package func content() throws(BatchError) -> BackupSet.Content {
    var content = try set.content(in: run)
    content.archives = [:]
    for (file, size) in files {
      if let name = SnapshotName(file: file.bytes, set: set.name, suffix: SnapshotName.archiveSuffix) {
        content.archives[name] = size
      }
    }
    return content
  }

  /// Removes snapshots that no rule keeps, manifests first.
  ///
  /// - Parameters:
  ///   - origin: the set whose copies they are.
  ///   - own: a snapshot of the only series to which the rules apply; nil for all series.
  /// - Returns: the snapshots that were removed, and those that stayed since their times are in the future.
  /// - Throws: `malformed` when a manifest is damaged, and then nothing is removed; `unwritable` when the remote refuses it.
  package func prune(
    _ retention: Retention, of origin: BackupSet, by grouping: Series.Grouping, only own: SnapshotName?
  ) throws(BatchError) -> (removed: [Snapshot], future: [Snapshot]) {
    let content = try content()
    if let damaged = content.damaged.first { throw named(BackupSet.nothingIsRemoved(because: damaged)) }
    let prune = Prune(
      retention, of: set, content, by: grouping, of: own, suspects: [],
      known: try known(content.snapshots, as: origin))
    do throws(BatchError) {
      try prune.checkManifests(in: run)
    } catch {
      throw named(error)
    }
    let parity = try RemoteParity(at: remote, files, in: run)
    for snapshot in prune.removed.reversed() {
      // Before the manifest, since a repair would bring it back.
      for file in try parity.names(of: snapshot.name.manifest) { try remote.remove(file) }
      try remote.remove(snapshot.name.manifest)
    }
    for archive in prune.archives {
      for file in try parity.names(of: archive.archive) { try remote.remove(file) }
    }
    for file in prune.files where files[file] != nil { try remote.remove(file) }
    return (prune.removed, prune.future)
  }

  /// The stamps of the copies that equal snapshots of the set, without those that another user can have added to the set.
  ///
  /// - Throws: `malformed` when a copy differs from its snapshot.
  private func known(_ copies: [Snapshot], as origin: BackupSet) throws(BatchError) -> Set<String> {
    let own = try origin.content(in: run).snapshots
    var known = origin.knownStamps(of: own)
    if known.isEmpty {
      let doubtful = Prune.doubtful(own, known, now: FileStatus.Time.now.seconds)
      known = Set(own.filter { !doubtful.contains($0.name) }.map(\.name.stamp))
    }
    let originals = Dictionary(own.map { ($0.name, $0) }) { first, _ in first }
    for copy in copies where originals[copy.name].map({ $0 != copy }) == true {
      throw named(
        BackupSet.nothingIsRemoved(
          because: BatchError(
            .malformed, "differs from the one in the set", path: set.path(copy.name.manifest))))
    }
    return Set(copies.filter { originals[$0.name] != nil }.map(\.name.stamp)).intersection(known)
  }

  /// An error of a fetched file, with its path at the remote.
  private func named(_ error: BatchError) -> BatchError {
    guard let path = error.path, path.parent == folder.path else { return error }
    return error.at(remote.place.appending(path.lastComponent))
  }
}
