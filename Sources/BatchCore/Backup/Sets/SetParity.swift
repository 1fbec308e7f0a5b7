import BatchEngine

/// The recovery data of the files of a set: one set of PAR2 for each archive and each manifest.
struct SetParity {
  private let folder: OpenFolder
  private let names: OwnParity.Names
  private let run: RunContext

  /// Reads the names of the folder.
  init(_ set: BackupSet, in run: RunContext) throws(BatchError) {
    try self.init(set.directory, in: run)
  }

  init(_ directory: PathBytes, in run: RunContext) throws(BatchError) {
    self.run = run
    folder = try run.folders.folder(named: directory)
    names = try OwnParity.Names(in: folder, run.calls)
  }

  /// The names of all files that have files with names of recovery data.
  var protected: [PathBytes] { names.protected }

  /// The recovery data of a file, which need not exist.
  func own(_ file: PathBytes) throws(BatchError) -> OwnParity {
    try OwnParity(of: file, in: folder, among: names, run)
  }

  /// The names of the recovery data of some files.
  func names(of files: [PathBytes]) throws(BatchError) -> [PathBytes] {
    var found: [PathBytes] = []
    for file in files where !names[file].isEmpty { found += try own(file).names }
    return found
  }

  /// Removes the recovery data of some files.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  func remove(of files: [PathBytes], isSynced: Bool) throws(BatchError) -> Bool {
    var isAny = false
    for file in files where !names[file].isEmpty {
      let own = try own(file)
      guard !own.isEmpty else { continue }
      try own.remove(isSynced: false, by: run.commits)
      isAny = true
    }
    if isAny, isSynced {
      let failed = -folder.calls.sync(folder.raw)
      guard failed == 0 else {
        throw BatchError.syscall("sync the folder", errno: failed, path: folder.path).recoded(.unwritable)
      }
    }
    return isAny
  }
}

extension ParityOptions {
  /// The recovery data of a manifest, without which a snapshot is lost: at least as many blocks as it has.
  var ofManifest: ParityOptions {
    guard case .share(let share) = amount else { return ParityOptions(.share(1)) }
    return ParityOptions(.share(max(1, share)))
  }
}

extension BackupSet {
  /// Whether any file of the set has recovery data, by the names alone.
  package func hasParity(in run: RunContext) -> Bool {
    guard let parity = try? SetParity(self, in: run) else { return false }
    return parity.protected.contains { SnapshotName.of($0)?.set == name }
  }
}
