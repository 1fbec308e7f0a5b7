import BatchEngine
import var Glibc.EACCES
import var Glibc.ELOOP
import var Glibc.ENOENT
import var Glibc.ENXIO
import var Glibc.EPERM

/// The files with recovery data of one file alone, beside it: `NAME.par2` and `NAME.vol000+100.par2`, if their packets describe
/// exactly this name. A file that has such a name and other packets is not among them, so it is never removed.
package struct OwnParity {
  /// The files of a folder that have names of recovery data, by the names that they are made of.
  package struct Names: Sendable {
    private let names: [PathBytes: [PathBytes]]

    /// - Throws: the error of reading the folder.
    package init(in folder: PathBytes, calls: any FileSystemCalls) throws(BatchError) {
      self.init(try calls.names(in: folder))
    }

    package init(in folder: OpenFolder, _ calls: any FileSystemCalls) throws(BatchError) {
      var names: [PathBytes] = []
      do throws(BatchError) {
        // Opened again, since each descriptor is read once.
        let list = try folder.readable()
        try calls.forEachName(in: list.raw) { names.append(PathBytes($0)) }
      } catch {
        throw error.at(folder.path)
      }
      self.init(names)
    }

    package init(_ names: [PathBytes]) {
      self.names = names.reduce(into: [:]) { found, name in
        if let file = ParityNames.protected(name) { found[file, default: []].append(name) }
      }
    }

    package subscript(_ file: PathBytes) -> [PathBytes] { (names[file] ?? []).sorted() }
    /// The names of files that have recovery data, by their names.
    package var protected: [PathBytes] { names.keys.sorted() }
  }

  fileprivate struct File {
    let name: PathBytes
    let identity: FileIdentity
    let set: ParitySet
    let recoveryCount: Int
  }

  private let protected: PathBytes
  private let folder: OpenFolder
  private var files: [File] = []

  /// Finds the files.
  ///
  /// - Parameters:
  ///   - file: the name of the protected file, which need not exist.
  ///   - names: the names of the folder; nil to read it.
  /// - Throws: the error of reading the folder or one of these files; the reason when the run is to stop.
  package init(
    of file: PathBytes, in folder: OpenFolder, among names: Names? = nil, _ run: RunContext
  ) throws(BatchError) {
    (protected, self.folder) = (file, folder)
    let known: Names
    if let names { known = names } else { known = try Names(in: folder, run.calls) }
    var damaged: [Scan] = []
    for name in known[file] {
      try run.cancellation.check()
      guard let scan = try Self.scan(name, in: folder, run) else { continue }
      if let set = scan.set, scan.sets.count == 1, set.members.count == 1, set.members[0].file.name == file {
        files.append(File(name: name, identity: scan.identity, set: set, recoveryCount: scan.recoveryCount))
      } else if scan.set == nil {
        damaged.append(scan)
      }
    }
    // What describes the set in them is damaged, but the packets that are whole belong to one that was found.
    for scan in damaged {
      guard scan.sets.count == 1, let found = files.first(where: { scan.sets.contains($0.set.id) }) else {
        continue
      }
      files.append(
        File(name: scan.name, identity: scan.identity, set: found.set, recoveryCount: scan.recoveryCount))
    }
  }

  /// - Parameter path: of the protected file, which need not exist.
  /// - Throws: as the other initializer.
  package init(of path: PathBytes, in run: RunContext) throws(BatchError) {
    try self.init(
      of: PathBytes(path.lastComponent), in: try run.folders.folder(named: path.parent), run)
  }

  /// What the packets of a file say.
  private struct Scan {
    let name: PathBytes
    let identity: FileIdentity
    /// Nil if no set is described.
    let set: ParitySet?
    /// The sets to which whole packets belong.
    let sets: Set<ParityHash>
    let recoveryCount: Int
  }

  /// Reads the packets of a file.
  ///
  /// Other read errors are not passed over. The caller would leave the recovery data of a file that it removes, and a repair
  /// would bring that file back.
  ///
  /// - Returns: nil if the file has no packets, is a link or a special file, does not exist, or may not be read by this user.
  /// - Throws: the error of reading the file; the reason when the run is to stop.
  private static func scan(
    _ name: PathBytes, in folder: OpenFolder, _ run: RunContext
  ) throws(BatchError) -> Scan? {
    let path = folder.path.appending(name.bytes)
    do throws(BatchError) {
      let opened = try ParityInputs.open(
        RelativePath(name), below: folder, shown: path, by: FolderOpener(calls: run.calls))
      let status = try run.calls.status(of: opened)
      let raw = opened.raw
      var scanner = try PacketScanner(
        size: UInt64(clamping: status.size), skipsRecovery: true,
        check: { () throws(BatchError) in try run.cancellation.check() }
      ) {
        (bytes, offset) throws(BatchError) in
        try run.calls.fill(bytes, from: raw, at: offset)
      }
      var builder = ParitySetBuilder()
      var sets: Set<ParityHash> = []
      try scanner.scan { (found) throws(BatchError) in
        if case .packet(let packet) = found { sets.insert(packet.set) }
        try builder.add(found, volume: 0)
      }
      return Scan(
        name: name, identity: status.identity, set: try? builder.set(at: name), sets: sets,
        recoveryCount: scanner.skippedCount)
    } catch {
      try run.cancellation.check()
      guard error.errno == 0 || [EACCES, EPERM, ELOOP, ENOENT, ENXIO].contains(error.errno) else {
        throw error.at(path)
      }
      return nil
    }
  }

  package var isEmpty: Bool { files.isEmpty }
  package var names: [PathBytes] { files.map(\.name) }

  /// The share of recovery blocks of the newest set that describes the file as it is, for recovery data of its next version.
  package var options: ParityOptions? {
    guard let first = current.first else { return nil }
    let count = current.filter { $0.set.id == first.set.id }.reduce(0) { $0 + $1.recoveryCount }
    guard count > 0, first.set.blockCount > 0 else { return nil }
    return ParityOptions(.share(Double(count) / Double(first.set.blockCount)))
  }

  /// The size of the blocks of that set.
  package var blockSize: Int? { current.first?.set.blockSize }

  /// The files of the sets that describe the file that is there; all if none does.
  private var current: [File] {
    let likely = likeliest.sets
    return files.filter { likely.contains($0.set.id) }
  }

  private var likeliest: (sets: Set<ParityHash>, isCertain: Bool) {
    let opener = FolderOpener(calls: folder.calls)
    var ranks: [ParityHash: Int] = [:]
    for file in files where ranks[file.set.id] == nil {
      ranks[file.set.id] = file.set.members[0].likeness(below: folder, by: opener)
    }
    let best = ranks.values.max() ?? 0
    return (Set(ranks.filter { $0.value == best }.keys), best == ParitySet.Member.sameSizeAndBeginning)
  }

  /// Removes the files.
  ///
  /// - Parameters:
  ///   - kept: names that stay: those of newer recovery data.
  ///   - isSynced: whether the removals are on the disk when this returns.
  /// - Throws: `unwritable`.
  package func remove(
    except kept: Set<PathBytes> = [], isSynced: Bool, by right: CommitRight
  ) throws(BatchError) {
    try remove(files.filter { !kept.contains($0.name) }, isSynced: isSynced, by: right)
  }

  /// Removes the files of sets that describe another version of the file than the one that is there, if another set describes that
  /// one. They are left of a run that was interrupted while it replaced the file.
  ///
  /// - Throws: `unwritable`.
  package func removeOutdated(isSynced: Bool, by right: CommitRight) throws(BatchError) {
    guard Set(files.map(\.set.id)).count > 1 else { return }
    let likely = likeliest
    guard likely.isCertain else { return }
    try remove(files.filter { !likely.sets.contains($0.set.id) }, isSynced: isSynced, by: right)
  }

  private func remove(_ files: [File], isSynced: Bool, by right: CommitRight) throws(BatchError) {
    guard !files.isEmpty else { return }
    for file in files {
      // Another file may have the name now.
      guard let status = try folder.look(at: file.name), status.identity == file.identity else { continue }
      let failed = folder.remove(file.name, by: right)
      let remains = failed == 0 ? nil : try folder.look(at: file.name)
      guard remains == nil else {
        throw BatchError.syscall(
          "remove the recovery data", errno: failed, path: folder.path.appending(file.name.bytes)
        ).recoded(.unwritable)
      }
    }
    guard isSynced else { return }
    let failed = -folder.calls.sync(folder.raw)
    guard failed == 0 else {
      throw BatchError.syscall("sync the folder", errno: failed, path: folder.path).recoded(.unwritable)
    }
  }
}
