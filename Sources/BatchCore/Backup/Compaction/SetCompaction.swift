import BatchEngine
import BatchOutputs

/// An archive that became smaller, or would become smaller.
package struct CompactedArchive: Sendable, Hashable {
  package let archive: SnapshotName
  /// The sizes of the file in bytes. In a dry run the second one is an estimate.
  package let before: UInt64
  package let after: UInt64

  /// Bytes that were won.
  package var won: UInt64 { before - min(before, after) }
}

extension BackupSet.Content {
  /// Whether snapshots need archives that have no manifest and are not encrypted.
  package var hasPlainArchivesToCompact: Bool {
    let own = Set(snapshots.map(\.name))
    return snapshots.contains { snapshot in
      !snapshot.name.isEncrypted
        && snapshot.archives.contains { !own.contains($0) && archives[$0] != nil }
    }
  }
}

/// Makes archives of a set smaller: those without a manifest, of which later snapshots need only a part.
///
/// The new archive is read back and compared with the rows of all manifests before it gets the name of the old one. So at any moment
/// each snapshot finds what it needs.
struct SetCompaction {
  /// The most names in memory at once, unless a single archive has more.
  private static let mostNames: UInt64 = 1 << 20

  private let set: BackupSet
  /// The snapshots that stay.
  private let snapshots: [Snapshot]
  private let archives: [SnapshotName: UInt64]
  /// Stamps of archives in which damage was found.
  private let suspects: Set<String>
  /// In percent.
  private let least: Int
  private let run: RunContext
  private let damage: (ArchiveFile) throws(BatchError) -> BatchError?

  /// - Parameters:
  ///   - snapshots: all snapshots that stay; those that keys open are opened.
  ///   - archives: the archives that stay, with their sizes in bytes.
  ///   - suspects: stamps of archives in which damage was found.
  ///   - least: an archive is replaced if less of its bytes are needed, in percent.
  ///   - damage: decodes an unfinished archive, and returns the first damage.
  init(
    of set: BackupSet, _ snapshots: [Snapshot], _ archives: [SnapshotName: UInt64], suspects: Set<String>,
    least: Int, in run: RunContext, damage: @escaping (ArchiveFile) throws(BatchError) -> BatchError?
  ) {
    (self.set, self.snapshots, self.archives, self.suspects) = (set, snapshots, archives, suspects)
    (self.least, self.run, self.damage) = (least, run, damage)
  }

  /// What a compaction would win, estimated.
  func preview() throws(BatchError) -> [CompactedArchive] {
    var found: [CompactedArchive] = []
    try forEachCandidate { (name, size, needed) throws(BatchError) in
      do throws(BatchError) {
        guard let measure = try compactor(of: name, needed)?.measure else { return true }
        // The index hardly becomes smaller when large files are left out.
        let head = size - min(size, measure.storedTotal)
        found.append(CompactedArchive(archive: name, before: size, after: min(size, measure.stored + head)))
        return true
      } catch {
        return try remark(error, name)
      }
    }
    return found
  }

  /// Replaces archives by smaller ones.
  ///
  /// What prevents it is a remark and no failure: damage, no space, a run that reads the set.
  ///
  /// - Parameter lock: the lock for writing, which is held; no run may read while an archive is replaced.
  /// - Throws: the error of replacing a file; the reason when the run was stopped.
  func replace(
    _ lock: SetLock, _ patience: SetLock.Patience, isSynced: Bool
  ) throws(BatchError) -> [CompactedArchive] {
    try settleCompanions(isSynced: isSynced)
    try settleParity(isSynced: isSynced)
    var made: [CompactedArchive] = []
    var isFree = false
    try forEachCandidate { (name, size, needed) throws(BatchError) in
      do throws(BatchError) {
        guard let compactor = try compactor(of: name, needed) else { return true }
        if !isFree {
          // Before time is spent.
          try lock.take(.removing, patience, run.cancellation)
          lock.release(.removing)
          isFree = true
        }
        if let compacted = try replace(name, size, compactor, needed, lock, patience, isSynced: isSynced) {
          made.append(compacted)
        }
        return true
      } catch {
        return try remark(error, name)
      }
    }
    return made
  }

  /// Reports why an archive stays as it is.
  ///
  /// - Returns: whether other archives may still be replaced.
  /// - Throws: the error, if it is a failure.
  private func remark(_ error: BatchError, _ name: SnapshotName) throws(BatchError) -> Bool {
    try run.cancellation.check()
    let path = set.path(name.archive)
    let member = error.path.map { $0 == path ? "" : "\($0): " } ?? ""
    func report(_ text: String) {
      run.report(
        Problem(.unreadable, BatchError(error.code, "is not compacted: \(text)", path: path)),
        severity: .warning)
    }
    if error.isOutOfSpace {
      report("there is no space for the smaller archive beside it")
      return false
    }
    if error.code == .locked {
      report(error.message)
      return false
    }
    guard
      [.malformed, .unsupported, .exhausted].contains(error.code)
        || error.code == .unreadable && error.isOfDevice
    else { throw error }
    report(member + error.message)
    return true
  }

  // MARK: Candidates

  /// Calls `body` with each archive of which little may be needed, by the footers of the manifests, and with the members that rows
  /// name; until it returns false.
  private func forEachCandidate(
    _ body: (SnapshotName, UInt64, NeededMembers) throws(BatchError) -> Bool
  ) throws(BatchError) {
    let needing = candidates()
    var rest = needing.keys.sorted { $0.stamp < $1.stamp }[...]
    while !rest.isEmpty {
      var (batch, names): ([SnapshotName], UInt64) = ([], 0)
      while let name = rest.first {
        let most = (needing[name] ?? []).reduce(into: UInt64(0)) {
          $0.addWithinRange($1.footer.needs[name.stamp]?.files ?? 0)
        }
        names.addWithinRange(most)
        guard batch.isEmpty || names <= Self.mostNames else { break }
        batch.append(name)
        rest.removeFirst()
      }
      var below: [SnapshotName] = []
      for name in batch where try isBelow(name, needing[name] ?? []) { below.append(name) }
      guard !below.isEmpty else { continue }
      let needs: [SnapshotName: NeededMembers]
      do throws(BatchError) {
        needs = try set.needs(of: Set(below), by: snapshots, in: run)
      } catch {
        guard error.code == .malformed else { throw error }
        let text = "no archive is compacted while a manifest is not valid: \(error.message)"
        return run.report(
          Problem(.unreadable, BatchError(.malformed, text, path: error.path)), severity: .warning)
      }
      for name in below {
        guard let needed = needs[name], !needed.isEmpty, let size = archives[name] else { continue }
        guard try body(name, size, needed) else { return }
      }
    }
  }

  /// The archives without a manifest that snapshots need, with these snapshots. Of an encrypted one all manifests must be open.
  private func candidates() -> [SnapshotName: [Snapshot]] {
    var needing: [SnapshotName: [Snapshot]] = [:]
    for snapshot in snapshots {
      for name in snapshot.archives { needing[name, default: []].append(snapshot) }
    }
    for snapshot in snapshots { needing[snapshot.name] = nil }
    return needing.filter { name, snapshots in
      archives[name] != nil && (!name.isEncrypted || set.keys != nil && snapshots.allSatisfy(\.isOpened))
    }
  }

  /// Whether the footers leave it open that little of an archive is needed: a snapshot that needs more decides, and the rows of all
  /// are counted otherwise.
  private func isBelow(_ name: SnapshotName, _ snapshots: [Snapshot]) throws(BatchError) -> Bool {
    let most = snapshots.map { $0.footer.needs[name.stamp]?.bytes ?? 0 }.max() ?? 0
    do throws(BatchError) {
      let file = try set.archive(name, in: SourceContext(run))
      let open = try OpenArchive(file, checks: false, memory: run.options.memory, by: run.reading)
      // Damage is found when it is read as a whole.
      guard let index = open.index?.index, index.totalBytes > 0 else { return true }
      guard ArchiveCompactor.isBelow(least, most, of: index.totalBytes) else { return false }
      guard suspects.contains(name.stamp) else { return true }
      throw BatchError(.malformed, "damage was found in it")
    } catch {
      _ = try remark(error, name)
      return false
    }
  }

  /// - Returns: nil if enough is needed.
  private func compactor(
    of name: SnapshotName, _ needed: NeededMembers
  ) throws(BatchError) -> ArchiveCompactor? {
    let compactor = try ArchiveCompactor(
      set.archive(name, in: SourceContext(run)), needed: needed, least: least, memory: run.options.memory,
      by: run.reading)
    return compactor.measure.isBelow(least) ? compactor : nil
  }

  // MARK: Replacing

  /// - Returns: nil if the new archive is not smaller.
  private func replace(
    _ name: SnapshotName, _ size: UInt64, _ compactor: ArchiveCompactor, _ needed: NeededMembers,
    _ lock: SetLock, _ patience: SetLock.Patience, isSynced: Bool
  ) throws(BatchError) -> CompactedArchive? {
    let path = set.path(name.archive)
    let status = try path.status()
    let companion = try set.companion(of: name)
    let former: StoredArchive
    if let companion {
      guard let recorded = companion.archive(ofSize: size) else {
        throw BatchError(.malformed, "its size differs from the companion")
      }
      former = recorded
    } else {
      former = StoredArchive(size: size, digest: try BackupSet.digest(of: path, in: run))
    }
    let output = try OutputFile(path, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    do throws(BatchError) {
      let encryption = try compactor.archive.file.encryption(of: output, run.concurrency)
      try compactor.write(to: encryption ?? output, of: companion?.origin ?? former, run)
      try encryption?.seal()
      let written = UInt64(clamping: try output.size() ?? 0)
      guard written < size else {
        output.discard()
        return nil
      }
      let file = try ArchiveFile(output, isSynced: isSynced, encryption: encryption, in: SourceContext(run))
      if let damage = try damage(file) { throw damage }
      let index = try ArchiveCompactor.open(file, memory: run.options.memory, by: run.reading).index
      if let error = try needed.contradiction(index, run.cancellation) { throw error }
      let recovery = try SetParity(set, in: run).own(name.archive)
      // The former volumes stay until the former archive is replaced.
      let parity = try recovery.options.flatMap { (options) throws(BatchError) in
        try WrittenParity.of(output, options, isReplacing: true, besides: true, run)
      }
      try lock.take(.removing, patience, run.cancellation)
      defer { lock.release(.removing) }
      // Until the archive is replaced, the former volumes describe it.
      try parity?.commit(AtomicFile.Metadata(of: status), isSynced: isSynced, by: run.commits)
      if let companion, let digest = encryption?.digest {
        let replacing = companion.replacing(by: StoredArchive(size: written, digest: digest))
        try write(replacing, of: name, like: status, isSynced: isSynced)
        try output.finish(like: status)
        try write(
          replacing.settled(on: StoredArchive(size: written, digest: digest)), of: name, like: status,
          isSynced: isSynced)
      } else {
        try output.finish(like: status)
      }
      try recovery.remove(except: Set(parity?.lastNames ?? []), isSynced: isSynced, by: run.commits)
      return CompactedArchive(archive: name, before: size, after: written)
    } catch {
      output.discard()
      // New recovery data of an archive that did not get its name.
      try? SetParity(set, in: run).own(name.archive).removeOutdated(isSynced: false, by: run.commits)
      throw error
    }
  }

  private func write(
    _ companion: Companion, of name: SnapshotName, like status: FileStatus, isSynced: Bool
  ) throws(BatchError) {
    let file = try OutputFile(
      set.path(name.companion), isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
    try file.write(try companion.bytes())
    try file.finish(like: status)
  }

  /// Removes recovery data of archives whose replacement was interrupted, if they do not describe the archive that is there.
  private func settleParity(isSynced: Bool) throws(BatchError) {
    let parity = try SetParity(set, in: run)
    for name in archives.keys.sorted(by: { $0.stamp < $1.stamp }) {
      do throws(BatchError) {
        try parity.own(name.archive).removeOutdated(isSynced: isSynced, by: run.commits)
      } catch {
        _ = try remark(error, name)
      }
    }
  }

  /// Completes the companions of archives whose replacement was interrupted; needs no key.
  private func settleCompanions(isSynced: Bool) throws(BatchError) {
    for (name, size) in archives.sorted(by: { $0.key.stamp < $1.key.stamp }) where name.isEncrypted {
      guard let companion = try? set.companion(of: name), companion.replacement != nil,
        let found = companion.archive(ofSize: size)
      else { continue }
      do throws(BatchError) {
        try write(
          companion.settled(on: found), of: name, like: try set.path(name.archive).status(),
          isSynced: isSynced)
      } catch {
        _ = try remark(error, name)
      }
    }
  }
}
