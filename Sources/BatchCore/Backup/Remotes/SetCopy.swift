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
    /// The errors of snapshots that are not copied, because they are damaged or an archive is missing.
    package var problems: [BatchError] = []
  }

  private let set: BackupSet
  private let remote: any Remote
  private let run: RunContext
  private let comparesContents: Bool
  private var there: [PathBytes: UInt64] = [:]
  private var outcome = Outcome()

  /// - Parameter comparesContents: whether existing files are read and compared.
  package init(_ set: BackupSet, to remote: any Remote, comparesContents: Bool, in run: RunContext) {
    self.set = set
    self.remote = remote
    self.comparesContents = comparesContents
    self.run = run
  }

  /// - Parameter report: receives the name of each copied file.
  /// - Throws: `invalid` when the remote may have the snapshots of another set; the error of the remote, and then the next copy
  ///   continues from there.
  package mutating func copy(
    report: (PathBytes) throws(BatchError) -> Void
  ) throws(BatchError) -> Outcome {
    let content = try set.content(in: run)
    outcome.problems += content.damaged
    there = try remote.files()
    try CopyOrigin(of: set, at: remote, there, in: run).claim(content.snapshots)
    var settled: Set<PathBytes> = []
    for snapshot in content.snapshots {
      try run.cancellation.check()
      if let fault = content.faults(of: snapshot).first {
        outcome.problems.append(
          BatchError(
            .malformed,
            "is missing or has another size: the snapshot \(snapshot.name.stamp) is not copied",
            path: set.path(fault.archive)))
        continue
      }
      do throws(BatchError) {
        try set.check(snapshot, in: run)
      } catch {
        try run.cancellation.check()
        outcome.problems.append(error)
        continue
      }
      let archives = Set(snapshot.footer.needs.keys).union([snapshot.name.stamp]).sorted().map { stamp in
        SnapshotName(set: set.name, stamp: stamp, isEncrypted: snapshot.name.isEncrypted).archive
      }
      let describing = snapshot.name.isEncrypted ? [snapshot.name.companion] : []
      var isNew = false
      for file in archives + describing + [snapshot.name.manifest] where settled.insert(file).inserted {
        let size: Int64
        do throws(BatchError) {
          size = try set.path(file).status().size
        } catch {
          // The file was removed meanwhile.
          guard error.isNotFound else { throw error }
          continue
        }
        if try isThere(file, UInt64(clamping: size)) {
          outcome.equal += 1
          continue
        }
        try report(file)
        try remote.put(set.path(file), as: file)
        outcome.files += 1
        outcome.bytes.addWithinRange(UInt64(clamping: size))
        isNew = true
      }
      if isNew { outcome.snapshots += 1 }
    }
    try checkSizes()
    return outcome
  }

  private func isThere(_ file: PathBytes, _ size: UInt64) throws(BatchError) -> Bool {
    guard there[file] == size else { return false }
    guard comparesContents else { return true }
    return try remote.digest(of: file) == BackupSet.digest(of: set.path(file), in: run)
  }

  /// Checks that each copied file exists with its size.
  private func checkSizes() throws(BatchError) {
    guard outcome.files > 0 else { return }
    for (name, size) in try remote.files() where SnapshotName.of(name)?.set == set.name {
      // A file that was removed here meanwhile may still be at the remote.
      guard let here = try? set.path(name).status().size, size != UInt64(clamping: here) else { continue }
      throw BatchError(
        .unwritable, "has another size at \(remote.place) than here", path: set.path(name))
    }
  }
}
