import BatchEngine
import var Glibc.EACCES
import var Glibc.EPERM
import var Glibc.EROFS

/// The snapshots with one name in a folder.
package struct BackupSet: Sendable {
  package let directory: PathBytes
  package let name: PathBytes
  /// The keys for encrypted snapshots.
  package var keys: AgeKeys?
  /// Opens its archives if they are at a remote.
  var remoteFile: (@Sendable (PathBytes) throws(BatchError) -> any PartialFile)?
  /// A local directory for files that must not be readable in the set.
  package var privateFolder: StatePlace?

  /// - Throws: `invalid` for an invalid name of a set.
  package init(in directory: PathBytes, named name: PathBytes) throws(BatchError) {
    try SnapshotName.check(name)
    self.directory = directory
    self.name = name
  }

  /// The set with a name, or the only set of a folder.
  ///
  /// - Throws: `missing` when there is no set, `invalid` when there are several and no name was given.
  package init(in directory: PathBytes, named name: PathBytes?, _ run: RunContext) throws(BatchError) {
    let names = try Self.names(in: directory, calls: run.calls)
    guard let found = name ?? names.first else {
      throw BatchError(.missing, "there is no snapshot in this folder", path: directory)
    }
    guard names.contains(found) else {
      throw BatchError(.missing, "there is no snapshot of this set in \(directory)", path: found)
    }
    guard name != nil || names.count == 1 else {
      let list = names.map(\.description).joined(separator: ", ")
      throw BatchError(
        .invalid, "there are several sets in this folder (\(list))", path: directory,
        remedy: .chooseSet)
    }
    try self.init(in: directory, named: found)
  }

  /// The set with a name, or the only set of a folder, of which a manifest is there or has recovery data.
  ///
  /// - Throws: as the initializer for a set that has snapshots.
  init(in directory: PathBytes, repairable name: PathBytes?, _ run: RunContext) throws(BatchError) {
    let names = try Self.names(repairableIn: directory, calls: run.calls)
    let only = names.count == 1 ? names.first : nil
    guard let found = name ?? only, names.contains(found) else {
      try self.init(in: directory, named: name, run)
      return
    }
    try self.init(in: directory, named: found)
  }

  package func path(_ file: PathBytes) -> PathBytes { directory.appending(file.bytes) }

  private func hidden(_ suffix: String) -> PathBytes {
    path(PathBytes([UInt8(ascii: ".")] + name.bytes + Array(suffix.utf8)))
  }
  var lockPath: PathBytes { hidden(".lock") }
  /// The file with the id of the set.
  var idPath: PathBytes { hidden(SnapshotName.idSuffix) }
  /// In a directory of copies: the file with the id of the set from which they were made.
  var originPath: PathBytes { hidden(SnapshotName.originSuffix) }
  /// The file with the results of drills.
  ///
  /// It contains names of files, so for an encrypted set it is in a local directory.
  func drillPath(isEncrypted: Bool) -> PathBytes? {
    guard isEncrypted else { return hidden(".drill") }
    guard let privateFolder, let id = SetID.read(idPath) else { return nil }
    return privateFolder.path.appending("\(id).drill".utf8)
  }

  // MARK: The content of the set

  /// The sorted names of sets with a snapshot in a folder.
  package static func names(
    in directory: PathBytes, calls: any FileSystemCalls
  ) throws(BatchError) -> [PathBytes] {
    let names = try calls.names(in: directory).compactMap { file in
      SnapshotName.of(file).flatMap { $0.manifest == file ? $0.set : nil }
    }
    return Set(names).filter { (try? SnapshotName.check($0)) != nil }.sorted()
  }

  /// The sorted names of sets in a folder of which a manifest is there, or has recovery data.
  ///
  /// - Throws: the error of reading the folder.
  package static func names(
    repairableIn directory: PathBytes, calls: any FileSystemCalls
  ) throws(BatchError) -> [PathBytes] {
    let names = try calls.names(in: directory).compactMap { file in
      let file = ParityNames.protected(file) ?? file
      return SnapshotName.of(file).flatMap { $0.manifest == file ? $0.set : nil }
    }
    return Set(names).filter { (try? SnapshotName.check($0)) != nil }.sorted()
  }

  /// Whether a path leads to a folder with a snapshot.
  package static func isPresent(in directory: PathBytes, calls: any FileSystemCalls) -> Bool {
    guard (try? directory.status(followingLinks: true))?.kind == .directory else { return false }
    return (try? names(in: directory, calls: calls))?.isEmpty == false
  }

  /// The files of the set in the folder.
  package struct Content: Sendable {
    /// In the order of their numbers.
    package internal(set) var snapshots: [Snapshot] = []
    /// Snapshots whose runs were cut before they had walked all sources, in the order of their numbers. No rule counts them, and they
    /// are restored by their ids alone.
    package internal(set) var cut: [Snapshot] = []
    /// The errors of manifests that are not valid.
    package internal(set) var damaged: [BatchError] = []
    /// Manifests without rows, which earlier versions of this program refuse.
    package internal(set) var markers: [PathBytes] = []
    /// The sizes of archives in bytes, by their snapshots.
    package internal(set) var archives: [SnapshotName: UInt64] = [:]
    /// Archives without a manifest that no snapshot needs, in the order of their names; empty while a manifest is not valid.
    ///
    /// The manifest was lost, or a copy is not complete.
    package internal(set) var unlisted: [SnapshotName] = []
    /// Damaged files that a repair has replaced and kept, in the order of their names.
    package internal(set) var replaced: [PathBytes] = []

    /// Whether the manifest or companion of an encrypted snapshot is damaged; then its number is unknown.
    var hasDamagedEncrypted: Bool {
      damaged.contains { error in
        error.path.map { path in
          [SnapshotName.encryptedSuffix, SnapshotName.companionSuffix].contains {
            path.bytes.suffix($0.utf8.count).elementsEqual($0.utf8)
          }
        } ?? false
      }
    }

    /// The archives that a snapshot needs and that are missing or have the wrong size.
    package func faults(of snapshot: Snapshot) -> [SnapshotName] {
      let sizes = Dictionary(snapshots.map { ($0.name, $0.footer.archiveSize) }) { first, _ in first }
      return snapshot.footer.needs.keys.sorted().map { stamp in
        SnapshotName(set: snapshot.name.set, stamp: stamp, isEncrypted: snapshot.name.isEncrypted)
      }.filter { name in
        guard let size = archives[name] else { return true }
        return sizes[name].map { $0 != size } ?? false
      }
    }
  }

  private enum Manifest {
    case marker(PathBytes)
    case snapshot(Snapshot)
    case damaged(BatchError)
  }

  private func read(_ name: SnapshotName, _ file: PathBytes, in run: RunContext) -> Manifest {
    do throws(BatchError) {
      try run.cancellation.check()
      if try isMarker(name, in: run) { return .marker(file) }
      return .snapshot(try name.isEncrypted ? sealed(name) : plain(name, in: run))
    } catch {
      return .damaged(error.path == nil ? error.at(path(file)) : error)
    }
  }

  /// - Throws: the error of reading the folder.
  package func content(in run: RunContext) throws(BatchError) -> Content {
    var content = Content()
    var manifests: [(file: PathBytes, name: SnapshotName)] = []
    for file in try run.calls.names(in: directory) {
      if let name = SnapshotName(file: file.bytes, set: name, suffix: SnapshotName.manifestSuffix) {
        manifests.append((file, name))
      } else if let name = SnapshotName(file: file.bytes, set: name, suffix: SnapshotName.archiveSuffix) {
        do throws(BatchError) {
          content.archives[name] = UInt64(clamping: try path(file).status().size)
        } catch {
          // The file was removed meanwhile.
          guard error.isNotFound else { throw error }
        }
      } else if SnapshotName.ofDamaged(file)?.set == name {
        content.replaced.append(file)
      }
    }
    content.replaced.sort()
    let found = run.strides(manifests.count, least: 8) { [manifests] in
      read(manifests[$0].name, manifests[$0].file, in: run)
    }
    try run.cancellation.check()
    for manifest in found {
      switch manifest {
      case .marker(let file): content.markers.append(file)
      case .snapshot(let snapshot): content.snapshots.append(snapshot)
      case .damaged(let error): content.damaged.append(error)
      }
    }
    content.snapshots.sort { $0.header.sequence < $1.header.sequence }
    content.cut = content.snapshots.filter(\.footer.isCut)
    content.snapshots.removeAll(where: \.footer.isCut)
    content.unlisted = unlisted(in: content, in: run)
    return content
  }

  private func unlisted(in content: Content, in run: RunContext) -> [SnapshotName] {
    guard content.damaged.isEmpty else { return [] }
    let all = content.snapshots + content.cut
    var others = Set(content.archives.keys).subtracting(all.map(\.name))
    guard !others.isEmpty else { return [] }
    for snapshot in all { others.subtract(snapshot.archives) }
    guard !others.isEmpty else { return [] }
    // A backup that runs now gives its archive the final name before the manifest.
    let pending = (try? SetLock(lockPath, isWritable: false, calls: run.calls))?.pending ?? []
    return others.filter { !pending.contains($0.archive) }.sorted {
      ($0.stamp, $0.archive) < ($1.stamp, $1.archive)
    }
  }

  /// Whether a manifest has no rows, and is there only so that earlier versions of this program, which do not know compressed
  /// manifests, refuse the set.
  private func isMarker(_ name: SnapshotName, in run: RunContext) throws(BatchError) -> Bool {
    let path = path(name.manifest)
    guard !name.isEncrypted, !name.hasCompressedManifest, try path.status().size <= Self.largestMarker else {
      return false
    }
    let content = try SmallFile.readRegular(path, limit: Self.largestMarker)
    guard content.last == UInt8(ascii: "\n"), let line = try? SnapshotLine(content.dropLast()) else {
      return false
    }
    return line.text("type") == "snapshot" && (try? line.number("schema")).map { $0 >= 2 } == true
  }

  private static let largestMarker = 4096

  /// The line of a marker.
  static func marker(of header: SnapshotHeader) -> [UInt8] {
    var line = [UInt8]()
    SnapshotHeader(
      name: header.name, sequence: 0, started: header.started, increment: 0
    ).appendLine(to: &line)
    return line
  }

  private func plain(_ name: SnapshotName, in run: RunContext) throws(BatchError) -> Snapshot {
    let (header, footer) = try facts(manifest(of: name), name, in: run)
    return Snapshot(name: name, header: header, footer: footer)
  }

  private func facts(
    _ manifest: ManifestFile, _ name: SnapshotName, in run: RunContext
  ) throws(BatchError) -> (header: SnapshotHeader, footer: SnapshotFooter) {
    let (found, footer) = try SnapshotReader.facts(manifest, in: SourceContext(run))
    var header = found
    // The names of other files are derived from this one, so it must be correct.
    guard header.name.set == name.set, header.name.stamp == name.stamp else {
      throw BatchError(
        .malformed, "the backup manifest belongs to another set or snapshot than its file name",
        path: manifest.path)
    }
    header.name = name
    try header.addSources(of: footer)
    return (header, footer)
  }

  // MARK: Encrypted snapshots

  /// The manifest of a snapshot, with its keys.
  package func manifest(of name: SnapshotName) -> ManifestFile {
    ManifestFile(path(name.manifest), keys: name.isEncrypted ? keys ?? AgeKeys() : nil)
  }

  /// An encrypted snapshot, as far as its companion file describes it.
  private func sealed(_ name: SnapshotName) throws(BatchError) -> Snapshot {
    let companion: Companion
    do throws(BatchError) {
      companion = try Companion.read(path(name.companion))
    } catch {
      guard error.code == .missing else { throw error }
      throw BatchError(
        .malformed, "has no companion, which says what the snapshot needs", path: path(name.manifest))
    }
    let size = UInt64(clamping: try path(name.manifest).status().size)
    guard size == companion.manifestSize else {
      throw BatchError(
        .malformed, "the size of the backup manifest differs from its companion", path: path(name.manifest))
    }
    return Snapshot(
      name: name, header: companion.header(of: name), footer: companion.footer, companion: companion)
  }

  /// The companion of an archive, which remains while a snapshot needs the archive, also without its manifest.
  ///
  /// - Returns: nil for an unencrypted archive, and if there is none.
  /// - Throws: `malformed` when it is damaged.
  package func companion(of archive: SnapshotName) throws(BatchError) -> Companion? {
    guard archive.isEncrypted else { return nil }
    do throws(BatchError) {
      return try Companion.read(path(archive.companion))
    } catch {
      guard error.isNotFound else { throw error }
      return nil
    }
  }

  /// Asks the system to read the parts of some archives that are needed first, so that the disk does not wait between them.
  func readAhead(_ names: some Sequence<SnapshotName>, in context: SourceContext) {
    guard remoteFile == nil else { return }
    for name in names { PageCache.readAhead(path(name.archive), by: context.calls) }
  }

  func archive(_ name: SnapshotName, in context: SourceContext) throws(BatchError) -> ArchiveFile {
    let (path, keys) = (path(name.archive), name.isEncrypted ? keys : nil)
    guard let remoteFile else { return try ArchiveFile(path, keys: keys, isOfSet: true, in: context) }
    return try ArchiveFile(remoteFile(path), keys: keys, in: context)
  }

  /// A snapshot with all facts of its manifest; an encrypted one is compared with its companion.
  ///
  /// - Throws: `unsupported` when no key decrypts it; `malformed` when the two differ.
  package func opened(_ snapshot: Snapshot, in run: RunContext) throws(BatchError) -> Snapshot {
    guard let companion = snapshot.companion else { return snapshot }
    let file = manifest(of: snapshot.name)
    guard keys != nil else { throw AgeKeys.missing(file.path) }
    let (header, footer) = try facts(file, snapshot.name, in: run)
    guard companion.agrees(with: header, footer) else {
      throw BatchError(
        .malformed, "the companion does not match the encrypted manifest",
        path: path(snapshot.name.companion))
    }
    return Snapshot(name: snapshot.name, header: header, footer: footer, companion: companion)
  }

  /// The content with all facts of those encrypted manifests that can be read with the keys.
  package func opened(_ content: Content, in run: RunContext) throws(BatchError) -> Content {
    guard keys != nil else { return content }
    var content = content
    for index in content.cut.indices where content.cut[index].companion != nil {
      do throws(BatchError) {
        content.cut[index] = try opened(content.cut[index], in: run)
      } catch {
        try run.cancellation.check()
      }
    }
    for index in content.snapshots.indices where content.snapshots[index].companion != nil {
      do throws(BatchError) {
        content.snapshots[index] = try opened(content.snapshots[index], in: run)
      } catch {
        try run.cancellation.check()
      }
    }
    return content
  }

  /// Compares the manifest of a snapshot with its recorded digest; needs no key.
  ///
  /// - Throws: `malformed` when it is damaged.
  package func check(_ snapshot: Snapshot, in run: RunContext) throws(BatchError) {
    let file = manifest(of: snapshot.name)
    guard let companion = snapshot.companion else {
      return try SnapshotReader.check(file, in: SourceContext(run))
    }
    guard try Self.digest(of: file.path, in: run) == companion.manifestDigest else {
      throw BatchError(
        .malformed, "the backup manifest is damaged: its digest is not the recorded one", path: file.path)
    }
  }

  /// The error of the rows of a manifest that lead outside of the folder that a restore writes to; nil if there is none, and for an
  /// encrypted manifest without keys.
  package func rowsOutside(of snapshot: Snapshot, in run: RunContext) throws(BatchError) -> BatchError? {
    if snapshot.name.isEncrypted, keys == nil { return nil }
    return try SnapshotReader.rowsOutside(manifest(of: snapshot.name), in: SourceContext(run))
  }

  /// The SHA-256 of a file.
  package static func digest(of path: PathBytes, in run: RunContext) throws(BatchError) -> Digest {
    let digest = try DigestStream(.sha256)
    try ManifestContent(ManifestFile(path), isRaw: true, in: SourceContext(run)).forEachPiece(
      run.cancellation
    ) {
      (piece) throws(BatchError) in try digest.update(piece.span.bytes)
    }
    return try digest.finish()
  }

  // MARK: Locks

  /// Takes the writer's lock of the set, and cleans up after an interrupted run.
  ///
  /// - Throws: `locked` when another run has it.
  func lockForWriting(_ patience: SetLock.Patience, in run: RunContext) throws(BatchError) -> SetLock {
    let lock = try SetLock(lockPath, isWritable: true, calls: run.calls)
    try lock.take(.writing, patience, run.cancellation)
    let pending = lock.pending
    guard !pending.isEmpty else { return lock }
    let content = try content(in: run)
    // The archives that an unreadable manifest needs are unknown, so none is removed.
    guard content.damaged.isEmpty else { return lock }
    let all = content.snapshots + content.cut
    let needed = all.reduce(into: Set<String>()) { $0.formUnion($1.footer.needs.keys) }
      .union(all.map(\.name.stamp))
    let folder = try SetFolder(self, in: run)
    for file in pending {
      let protected = ParityNames.protected(file)
      let suffixes =
        [SnapshotName.archiveSuffix, SnapshotName.companionSuffix]
        + (protected == nil ? [] : [SnapshotName.manifestSuffix])
      let known = suffixes.lazy.compactMap { suffix in
        SnapshotName(file: (protected ?? file).bytes, set: name, suffix: suffix)
      }.first
      guard let known, !needed.contains(known.stamp) else { continue }
      try folder.remove(file)
    }
    try lock.note([])
    return lock
  }

  /// Prevents the removal of archives while they are read; backups may continue.
  ///
  /// - Returns: nil if the folder is read-only and so cannot be locked.
  /// - Throws: `locked` when archives are being removed.
  package func lockForReading(_ patience: SetLock.Patience, in run: RunContext) throws(BatchError) -> SetLock?
  {
    let lock: SetLock
    do throws(BatchError) {
      lock = try SetLock(lockPath, isWritable: true, calls: run.calls)
    } catch {
      guard let readable = try? SetLock(lockPath, isWritable: false, calls: run.calls) else {
        guard [EROFS, EACCES, EPERM].contains(error.errno) else { throw error }
        return nil
      }
      lock = readable
    }
    try lock.take(.reading, patience, run.cancellation)
    return lock
  }
}

extension BackupSet {
  /// The files of a snapshot as rows of `sha256sum`, in parts.
  ///
  /// - Throws: `malformed` for a manifest that is damaged, and the error of `write`.
  package func digests(
    of snapshot: Snapshot, as format: ManifestFormat, in run: RunContext,
    write: (ResultRows) throws(BatchError) -> Void
  ) throws(BatchError) {
    let manifest = self.manifest(of: try opened(snapshot, in: run).name)
    try SnapshotReader.check(manifest, in: SourceContext(run))
    let reader = try SnapshotReader(manifest, in: SourceContext(run))
    let writer = try ManifestWriter(format, algorithms: [.sha256], zero: false)
    var rows = ResultRows()
    while let item = try reader.next() {
      guard case .entry(let entry, _) = item, let digest = entry.digest else { continue }
      try rows.append { (bytes) throws(BatchError) in
        try writer.append(
          ManifestRow(path: entry.path, digests: [digest], size: entry.size, modified: nil), to: &bytes)
      }
      if rows.bytes.count > 1 << 16 {
        try write(rows)
        rows = ResultRows()
      }
    }
    if rows.count > 0 { try write(rows) }
  }
}
