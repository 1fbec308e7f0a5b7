import BatchEngine

/// Copies the snapshots of a set to a remote: archives first and the manifest last, so that a snapshot with a manifest is
/// complete.
package struct SetCopy {
  package struct Outcome: Sendable {
    package var snapshots = 0
    package var files = 0
    package var bytes: UInt64 = 0
    /// Files that existed and were equal.
    package var equal = 0
    /// How many errors of snapshots and archives were reported.
    package var problems = 0
  }

  private let set: BackupSet
  private let remote: any Remote
  private let run: RunContext
  private let comparesContents: Bool
  private let allowsPlain: Bool
  private let temporary: PathBytes
  /// Whether all checksums in an unencrypted archive are correct, and its index has this digest. Without a manifest there is no
  /// digest to compare with.
  private let isWhole: (SnapshotName, _ index: Digest?) throws(BatchError) -> Bool
  private let fail: (BatchError) -> Void
  private var there: [PathBytes: UInt64] = [:]
  /// The sizes of the files that this run has copied.
  private var copied: [PathBytes: UInt64] = [:]
  private var outcome = Outcome()
  /// Archives whose copies lack what snapshots here need.
  private var lacking: Set<SnapshotName> = []
  /// Archives whose copies stay as they are although they differ from the ones here; so do their companions.
  private var other: Set<PathBytes> = []
  private var parityThere: RemoteParity?
  /// Archives whose copies were read and have the same digest.
  private var same: Set<PathBytes> = []

  /// - Parameters:
  ///   - comparesContents: whether existing files are read and compared.
  ///   - allowsPlain: whether unencrypted snapshots are copied too if others are encrypted.
  ///   - temporary: a directory for fetched parts of archives.
  ///   - isWhole: whether all checksums in an unencrypted archive are correct, and its index has the digest.
  ///   - fail: receives the errors of snapshots that are not copied, because they are damaged or an archive is missing, and of
  ///     archives that differ from their copies.
  package init(
    _ set: BackupSet, to remote: any Remote, comparesContents: Bool, allowsPlain: Bool,
    temporary: PathBytes, in run: RunContext,
    isWhole: @escaping (SnapshotName, Digest?) throws(BatchError) -> Bool,
    fail: @escaping (BatchError) -> Void
  ) {
    self.isWhole = isWhole
    self.set = set
    self.remote = remote
    self.comparesContents = comparesContents
    self.allowsPlain = allowsPlain
    self.temporary = temporary
    self.run = run
    self.fail = fail
  }

  /// - Parameter report: receives the name of each copied file.
  /// - Throws: `invalid` when the remote may have the snapshots of another set; the error of the remote, and then the next copy
  ///   continues from there.
  package mutating func copy(
    report: (PathBytes) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome {
    let content = try set.content(in: run)
    let suspects = try set.foundDamage().suspects
    for error in content.damaged { note(error) }
    there = try remote.files()
    try CopyOrigin(of: set, at: remote, there, in: run).claim(content)
    for marker in content.markers where there[marker] == nil {
      try remote.put(set.path(marker), as: marker, isNew: true)
    }
    let snapshots = Dictionary(content.snapshots.map { ($0.name, $0) }) { first, _ in first }
    let forms = CopiedForm(
      set: set, remote: remote, there: there, snapshots: content.snapshots,
      comparesContents: comparesContents, temporary: temporary, run: run)
    let graph = TransferGraph(of: set, to: remote, in: run)
    do throws(BatchError) {
      try plan(content, suspects, snapshots, forms, graph)
    } catch {
      graph.cancel()
      throw error
    }
    try graph.finish { (file) throws(BatchError) in
      try report(file)
      outcome.files += 1
      outcome.bytes.addWithinRange(copied[file] ?? 0)
    }
    try checkSizes()
    return outcome
  }

  /// Decides which files are transferred, and begins their transfers.
  private mutating func plan(
    _ content: BackupSet.Content, _ suspects: Set<String>, _ snapshots: [SnapshotName: Snapshot],
    _ forms: CopiedForm, _ graph: TransferGraph
  ) throws(BatchError) {
    var settled: Set<PathBytes> = []
    let parity = try SetParity(set, in: run)
    parityThere = try RemoteParity(at: remote, there, in: run)
    for snapshot in content.snapshots {
      try run.cancellation.check()
      if let fault = content.faults(of: snapshot).first {
        note(
          BatchError(
            .malformed,
            "is missing or has the wrong size: the snapshot \(snapshot.name.stamp) is not copied",
            path: set.path(fault.archive)))
        continue
      }
      guard mayCopy(snapshot, of: content) else {
        note(
          BatchError(
            .invalid, "is not encrypted, and other snapshots of the set are: it is not copied",
            path: set.path(snapshot.name.manifest), remedy: .allowPlain))
        continue
      }
      let archives = snapshot.archives
      // A copy with the recorded size is probably whole, and is not touched.
      if let damaged = archives.first(where: {
        suspects.contains($0.stamp) && there[$0.archive] != content.archives[$0]
      }) {
        note(
          BatchError(
            .malformed, "damage was found in it: the snapshot \(snapshot.name.stamp) is not copied",
            path: set.path(damaged.archive)))
        continue
      }
      do throws(BatchError) {
        try set.check(snapshot, in: run)
      } catch {
        try run.cancellation.check()
        note(error)
        continue
      }
      // The companion of an archive has its digest, also if the manifest beside it was removed.
      let companions = archives.filter { (try? set.companion(of: $0)) != nil }.map(\.companion)
      let protected = (archives.map(\.archive) + [snapshot.name.manifest]).filter { !settled.contains($0) }
      let recovery = try parity.names(of: protected)
      let files = archives.map(\.archive) + companions + recovery + [snapshot.name.manifest]
      var hasTransfers = false
      for file in files {
        // Without what it needs, the snapshot must not exist there.
        if file == snapshot.name.manifest, !lacking.isDisjoint(with: archives) { continue }
        guard settled.insert(file).inserted else { continue }
        let size: UInt64
        do throws(BatchError) {
          size = UInt64(clamping: try set.path(file).status().size)
        } catch {
          // The file was removed meanwhile.
          guard error.isNotFound else { throw error }
          continue
        }
        switch try standing(of: file, size, snapshots, forms) {
        case .equal: outcome.equal += 1
        case .lacking(let name, let error):
          lacking.insert(name)
          note(error)
        case .doubtful(let error): note(error)
        case .different:
          // A repair there would bring the former file back.
          let isNew = there[file] == nil
          let outdated = try isNew ? [] : takeParity(of: file, except: settled)
          if file == snapshot.name.manifest {
            graph.add(manifest: file, isNew: isNew, after: files.dropLast(), removing: outdated)
          } else {
            graph.add(file, isNew: isNew, removing: outdated)
          }
          copied[file] = size
          hasTransfers = true
        }
      }
      if hasTransfers { outcome.snapshots += 1 }
    }
  }

  /// An unencrypted snapshot in a set with encrypted ones may be there by mistake.
  private func mayCopy(_ snapshot: Snapshot, of content: BackupSet.Content) -> Bool {
    allowsPlain || snapshot.name.isEncrypted || there[snapshot.name.manifest] != nil
      || !(content.hasDamagedEncrypted || content.snapshots.contains(where: \.name.isEncrypted))
  }

  private mutating func note(_ error: BatchError) {
    outcome.problems += 1
    fail(error)
  }

  private enum Standing {
    case equal
    /// The file here is to be copied.
    case different
    /// The copy may be the good one.
    case doubtful(BatchError)
    /// The copy stays, and snapshots that need the archive are not copied.
    case lacking(SnapshotName, BatchError)
  }

  /// The archive of a file; nil for another file.
  private func archive(_ file: PathBytes, _ suffix: String) -> SnapshotName? {
    SnapshotName(file: file.bytes, set: set.name, suffix: suffix)
  }

  private mutating func standing(_ finding: CopiedForm.Finding, _ name: SnapshotName) -> Standing {
    switch finding {
    case .different: return .different
    case .equal:
      other.insert(name.archive)
      return .equal
    case .lacking(let text):
      return .lacking(
        name,
        BatchError(
          .malformed, "\(text): snapshots that need it are not copied", path: set.path(name.archive)))
    }
  }

  /// The recovery data at the remote of a file that is replaced; from now on they count as missing.
  ///
  /// - Parameter settled: files of this copy, which belong to the new file.
  private mutating func takeParity(
    of file: PathBytes, except settled: Set<PathBytes>
  ) throws(BatchError) -> [PathBytes] {
    try (parityThere?.names(of: file) ?? []).filter {
      !settled.contains($0) && there.removeValue(forKey: $0) != nil
    }
  }

  /// Whether recovery data here are to be copied.
  private func standing(
    ofParity file: PathBytes, _ size: UInt64, of protected: PathBytes
  ) throws(BatchError) -> Standing {
    // They describe the file here, and not another form of it there.
    if other.contains(protected) || lacking.contains(where: { $0.archive == protected }) { return .equal }
    guard let found = there[file], found == size else { return .different }
    guard comparesContents,
      try remote.digest(of: file) != BackupSet.digest(of: set.path(file), in: run)
    else { return .equal }
    let path = set.path(file)
    guard try !ParityArchive(of: path, in: run).damagedVolumes.contains(path) else {
      return .doubtful(
        BatchError(
          .malformed, "is damaged, and does not replace its copy at \(remote.place)", path: path))
    }
    return .different
  }

  private mutating func standing(
    of file: PathBytes, _ size: UInt64, _ snapshots: [SnapshotName: Snapshot], _ forms: CopiedForm
  ) throws(BatchError) -> Standing {
    if let protected = ParityNames.protected(file) {
      return try standing(ofParity: file, size, of: protected)
    }
    guard let found = there[file] else { return .different }
    if let name = archive(file, SnapshotName.companionSuffix) {
      // It describes the copy of the archive.
      if other.contains(name.archive) || lacking.contains(name) { return .equal }
      if copied[name.archive] != nil { return .different }
      if let own = try? set.companion(of: name), own.origin != nil {
        return forms.isDescribed(name, own, isSame: same.contains(name.archive)) ? .equal : .different
      }
    }
    if found != size {
      guard let name = archive(file, SnapshotName.archiveSuffix) else { return .different }
      return standing(try forms.finding(of: name, found), name)
    }
    guard comparesContents else { return .equal }
    let digest = try BackupSet.digest(of: set.path(file), in: run)
    let copy = try remote.digest(of: file)
    if copy == digest {
      same.insert(file)
      return .equal
    }
    if let name = archive(file, SnapshotName.archiveSuffix),
      let finding = try forms.findingOfSameSize(of: name, found, copy)
    {
      return standing(finding, name)
    }
    // Manifests and companions contain their own digests, which were checked.
    guard let name = archive(file, SnapshotName.archiveSuffix) else { return .different }
    if name.isEncrypted {
      guard let companion = try? set.companion(of: name) ?? forms.companionThere(name) else {
        return .doubtful(
          BatchError(
            .malformed,
            "differs from its copy at \(remote.place), and no companion here or there has its digest",
            path: set.path(file)))
      }
      if companion.archives.contains(where: { $0.digest == digest }) { return .different }
    } else if try isWhole(name, snapshots[name]?.footer.index) {
      return .different
    }
    return .doubtful(
      BatchError(
        .malformed, "is damaged, and does not replace its copy at \(remote.place)", path: set.path(file)))
  }

  /// Checks that each file that was copied exists with its size.
  private func checkSizes() throws(BatchError) {
    guard !copied.isEmpty else { return }
    let there = try remote.files()
    for (file, size) in copied.sorted(by: { $0.key < $1.key }) where there[file] != size {
      throw BatchError(
        .unwritable,
        "\(there[file] == nil ? "is missing" : "has the wrong size") at \(remote.place) after it was copied",
        path: set.path(file))
    }
  }
}
