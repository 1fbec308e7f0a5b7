import BatchEngine
import BatchOutputs

/// The target directory of a backup. Checks whether earlier backups of this machine went to the same directory.
///
/// If a disk is not mounted, its path leads to an empty directory or another disk. So each set has an id, and the machine
/// records which ids it has used under each path.
package struct BackupTarget: Sendable {
  private let set: BackupSet
  /// The path under which the directory is recorded.
  private let place: PathBytes
  private let state: StatePlace?
  private let id: String?
  private let isNoted: Bool
  /// A note about a directory that is not recorded.
  package let note: BatchError?
  /// Why the record of this machine's targets is unavailable.
  package let warning: BatchError?

  /// Examines the directory; writes nothing.
  ///
  /// - Parameters:
  ///   - state: the file of ``KnownTargets``; nil if the machine has no place for it.
  ///   - isNew: whether the user wants to begin the set here.
  ///   - mounts: the file systems that the machine is configured to mount.
  /// - Throws: `missing` or `invalid` for a directory that is probably the wrong one.
  package init(
    _ set: BackupSet, state: StatePlace?, isNew: Bool, mounts: ConfiguredMounts = ConfiguredMounts(),
    in run: RunContext
  ) throws(BatchError) {
    self.set = set
    let directory = set.directory
    if Self.isRemote(directory) {
      throw BatchError(
        .invalid, "is a place on another machine, and backups are written to local directories",
        path: directory, remedy: .copyElsewhere)
    }
    place = Self.place(of: directory)
    var warning: BatchError?
    var known: Set<String> = []
    var record = state?.path
    do throws(BatchError) {
      known = try KnownTargets(readingAt: record).ids[place] ?? []
      self.state = state
    } catch {
      warning = error
      self.state = nil
    }
    // What is found there is recorded in the new place, so the next run does not look there.
    let noted = known
    if known.isEmpty, warning == nil, let earlier = state?.earlier {
      do throws(BatchError) {
        known = try KnownTargets(readingAt: earlier).ids[place] ?? []
        if !known.isEmpty { record = earlier }
      } catch {
        warning = error
      }
    }
    self.warning = warning
    let present = SetID.all(in: directory, calls: run.calls)
    id = SetID.read(set.idPath)
    isNoted = id.map(noted.contains) ?? false
    if !known.isDisjoint(with: present) {
      if isNew, id != nil {
        throw BatchError(
          .invalid, "no new set begins here: earlier backups used the set in this directory", path: directory,
          remedy: .continueSet)
      }
    } else if !isNew {
      try Self.check(directory, knownFrom: known.isEmpty ? nil : record)
      if present.isEmpty, let missing = mounts.missing(above: place) {
        throw BatchError(
          .missing,
          "the mount point '\(missing.point)' is in \(missing.file), and nothing is mounted there",
          path: directory, remedy: .mountOrInitialize)
      }
    }
    note = Self.note(set, id, run.calls)
  }

  /// - Throws: `missing` when there is no sign that the directory is the right one.
  ///
  /// - Parameter state: the record of earlier backups that has the directory; nil if it has not.
  private static func check(_ directory: PathBytes, knownFrom state: PathBytes?) throws(BatchError) {
    let isThere = kind(of: directory) != nil
    if let state {
      throw BatchError(
        .missing,
        (isThere
          ? "is not the directory of earlier backups: it contains none of their sets"
          : "is missing, and earlier backups used it") + " (recorded in \(state))",
        path: directory, remedy: .mountOrInitialize)
    }
    let above = directory.parent
    guard !isThere, kind(of: above.isEmpty ? "." : above) != .directory else { return }
    throw BatchError(
      .missing, "the parent directory '\(above)' does not exist", path: directory, remedy: .mountOrInitialize)
  }

  private static func kind(of path: PathBytes) -> FileStatus.Kind? {
    (try? path.status(followingLinks: true))?.kind
  }

  private static func note(_ set: BackupSet, _ id: String?, _ calls: any FileSystemCalls) -> BatchError? {
    guard id == nil else { return nil }
    let hasSnapshots = (try? BackupSet.names(in: set.directory, calls: calls))?.contains(set.name) ?? false
    return BatchError(
      .missing,
      hasSnapshots
        ? "the set '\(set.name)' has snapshots but no id: it gets an id, so that it can be recognized"
        : "the new set '\(set.name)' begins with this snapshot", path: set.directory)
  }

  /// Whether a path is remote, by the rule of `scp` and `rsync`: it has a colon before the first slash. A URL has one too.
  package static func isRemote(_ path: PathBytes) -> Bool {
    path.bytes.prefix { $0 != UInt8(ascii: "/") }.contains(UInt8(ascii: ":"))
  }

  /// The absolute path without dots, even of a missing directory.
  package static func place(of directory: PathBytes) -> PathBytes {
    let absolute = WorkingFolder.absolute(directory)
    var names = absolute.bytes.split(separator: UInt8(ascii: "/")).filter { !$0.elementsEqual(".".utf8) }
    if names.contains(where: { $0.elementsEqual("..".utf8) }), let real = try? absolute.resolved() {
      names = real.bytes.split(separator: UInt8(ascii: "/"))
    }
    return PathBytes([UInt8(ascii: "/")] + names.joined(separator: [UInt8(ascii: "/")]))
  }

  /// Creates the directory and its missing parents.
  ///
  /// - Throws: `unwritable`.
  func make(isSynced: Bool, in run: RunContext) throws(BatchError) {
    try FolderMaker(calls: run.calls, isSynced: isSynced).make(set.directory)
  }

  /// Gives the set an id, and records that this machine has used it.
  ///
  /// - Returns: why that could not be recorded; the directory is then unknown to the next backup.
  /// - Throws: `unwritable` when the id cannot be written.
  func settle(isSynced: Bool, in run: RunContext) throws(BatchError) -> BatchError? {
    let id = self.id ?? SetID.random()
    if self.id == nil {
      let file = try OutputFile(set.idPath, isReplacing: true, isSynced: isSynced, isPrivate: true, in: run)
      try file.write(Array("\(id)\n".utf8))
      try file.finish()
    }
    guard !isNoted, let state else { return nil }
    do throws(BatchError) {
      try KnownTargets.add(id, in: place, to: state.path, calls: run.calls)
      return nil
    } catch {
      return BatchError(
        error.code, "\(error.message): an unmounted disk would not be noticed", path: error.path,
        errno: error.errno)
    }
  }
}
