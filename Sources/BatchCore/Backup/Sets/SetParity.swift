import BatchEngine
import BatchOutputs

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

  /// Makes the recovery data of a file that has none.
  ///
  /// - Returns: false for an empty file.
  func make(
    _ file: PathBytes, _ options: ParityOptions, shown: PathBytes, isSynced: Bool
  ) throws(BatchError) -> Bool {
    guard let size = try folder.look(at: file)?.size, size > 0 else { return false }
    let source = ParityEncoder.Source.below(
      folder, try RelativePath(file), shown: shown, size: UInt64(clamping: size))
    let written = try ParityEncoder([source], options, in: run).encode(scratchIn: folder)
      .write(at: shown, in: folder, isReplacing: false)
    try written.commit(.init(permissions: 0o600), isSynced: isSynced, by: run.commits)
    return true
  }

  /// Makes recovery data of a file again, as many as there were by their names, and removes the former ones.
  ///
  /// - Returns: false for a file without recovery data.
  func makeAgain(
    _ file: PathBytes, shown: PathBytes, isSynced: Bool
  ) throws(BatchError) -> Bool {
    let own = try own(file)
    let count = own.names.reduce(into: 0) { $0.addClamped(ParityNames.recoveryCount($1)) }
    guard (1...ParityPacket.mostRecoveryBlocks).contains(count), let size = try folder.look(at: file)?.size,
      size > 0
    else { return false }
    let source = ParityEncoder.Source.below(
      folder, try RelativePath(file), shown: shown, size: UInt64(clamping: size))
    var options = ParityOptions(.blocks(count))
    options.blockSize = own.blockSize
    let written = try ParityEncoder([source], options, in: run).encode(scratchIn: folder)
      .write(at: shown, in: folder, isReplacing: true)
    try written.commit(.init(permissions: 0o600), isSynced: isSynced, by: run.commits)
    try own.remove(except: Set(written.lastNames), isSynced: isSynced, by: run.commits)
    return true
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
    var options = ParityOptions(.share(1))
    if case .share(let share) = amount { options.amount = .share(max(1, share)) }
    // The time is in proportion to the number of recovery blocks, and so many rebuild every block.
    options.usualBlockCount = 100
    return options
  }
}

extension BackupSet {
  /// Makes recovery data of the archives and manifests that have none.
  ///
  /// - Returns: of how many files.
  /// - Throws: the error of reading a file, or of writing.
  func protect(
    _ options: ParityOptions, isSynced: Bool, in run: RunContext
  ) throws(BatchError) -> Int {
    let content = try content(in: run)
    let all = content.snapshots + content.cut
    let needed = all.reduce(into: Set<SnapshotName>()) { $0.formUnion($1.archives) }
    let archives = needed.filter { content.archives[$0] != nil }.map { ($0.archive, options) }
    let parity = try SetParity(self, in: run)
    var count = 0
    for (file, options) in archives.sorted(by: { $0.0 < $1.0 })
      + all.map({ ($0.name.manifest, options.ofManifest) })
    where try parity.own(file).isEmpty {
      try run.cancellation.check()
      if try parity.make(file, options, shown: path(file), isSynced: isSynced) { count += 1 }
    }
    return count
  }

  /// The files with recovery data of the set that are not whole.
  ///
  /// - Throws: the error of reading the folder; the reason when the run is to stop.
  package func damagedParity(in run: RunContext) throws(BatchError) -> [PathBytes] {
    let parity = try SetParity(self, in: run)
    var damaged: [PathBytes] = []
    for file in parity.protected where SnapshotName.of(file)?.set == name {
      do throws(BatchError) {
        damaged += try ParityArchive(of: path(file), in: run).damagedVolumes
      } catch {
        try run.cancellation.check()
        damaged.append(path(ParityNames.index(file)))
      }
    }
    return damaged
  }

  /// Whether any file of the set has recovery data, by the names alone.
  package func hasParity(in run: RunContext) -> Bool {
    guard let parity = try? SetParity(self, in: run) else { return false }
    return parity.protected.contains { SnapshotName.of($0)?.set == name }
  }
}
