import BatchEngine
import CLinux
import Glibc

/// What a backup is asked for.
package struct BackupOptions: Sendable {
  package var archive = ArchiveOptions(format: .tarZstandard)
  /// Every so many snapshots one is full.
  package var fullEvery: UInt64 = 7
  /// Whether this one is full in any case.
  package var isFull = false
  /// Whether unchanged files are read too, and archived when their content is another one.
  package var readsEverything = false
  /// Whether a source that is missing its files, or has another file system, is taken as it is.
  package var allowsEmpty = false
  package var isSynced = true
  /// What chooses among the files, as one word that is the same for the same choice.
  package var selection = ""
  package var patience = SetLock.Patience.none
  /// The clock of the machine, which names snapshots.
  package var now: @Sendable () -> FileStatus.Time = { Clock.now(CLOCK_REALTIME) }
  /// The clock by which file systems note changes.
  package var fileClock: @Sendable () -> FileStatus.Time = { Clock.now(CLOCK_REALTIME) }

  package init() {}
}

/// Reads clocks of the kernel.
package enum Clock {
  package static func now(_ clock: clockid_t) -> FileStatus.Time {
    var time = timespec()
    clock_gettime(clock, &time)
    return FileStatus.Time(seconds: Int64(time.tv_sec), nanoseconds: Int32(truncatingIfNeeded: time.tv_nsec))
  }
}

/// One backup from its lock to the names of its two files.
///
/// The archive gets its name first, and the snapshot exists when its manifest has one. Before that the lock notes the
/// name of the archive, so that the next run removes it when this one is interrupted in between.
package final class BackupRun: Sendable {
  /// How much earlier than the run a change must be to be told from later ones, in seconds: file systems note times in
  /// steps of up to two.
  private static let settling: Int64 = 2

  package let set: BackupSet
  package let header: SnapshotHeader
  package let job: BackupJob
  /// The file that is read back.
  package let archive: OutputFile
  /// What made this snapshot a full one, or is odd about the set.
  package let remarks: [BatchError]
  package let lock: SetLock
  private let manifest: OutputFile
  private let plan: BackupPlan
  private let sources: [SnapshotSource]
  private let previous: PathBytes?

  /// Takes the lock of the set, looks at what is there, and opens the files.
  ///
  /// - Parameters:
  ///   - paths: one or more.
  ///   - report: told of every member that is archived.
  /// - Throws: `locked` when another run has the set, `missing` or `invalid` for a source that cannot be right,
  ///   `unwritable` when the folder takes no files.
  package init(
    _ paths: [PathBytes], to set: BackupSet, options: BackupOptions, in run: RunContext,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.set = set
    try FolderMaker.make(set.directory)
    lock = try set.lockForWriting(options.patience, in: run)
    set.removeStaleFiles()
    let content = try set.content(in: run)
    var remarks = content.damaged
    let last = content.snapshots.last
    sources = try Self.sources(paths)
    if let last, !options.allowsEmpty { try Self.compare(sources, with: last) }
    var base = options.isFull ? nil : last
    if let snapshot = base {
      if snapshot.header.increment + 1 >= max(1, options.fullEvery) {
        base = nil
      } else if let fault = content.faults(of: snapshot).first {
        base = nil
        remarks.append(
          BatchError(
            .malformed, "an archive is missing or has another size: this snapshot is a full one",
            path: set.path(SnapshotName(set: set.name, stamp: fault).archive)))
      } else {
        do throws(BatchError) {
          try SnapshotReader.check(set.path(snapshot.name.manifest), in: run)
        } catch {
          try run.cancellation.check()
          base = nil
          remarks.append(error)
        }
      }
    }
    self.remarks = remarks
    let started = options.now()
    header = SnapshotHeader(
      name: Self.freeName(set, content, from: started.seconds), sequence: (last?.header.sequence ?? 0) + 1,
      started: started, increment: base.map { $0.header.increment + 1 } ?? 0)
    let fileTime = options.fileClock()
    plan = BackupPlan(
      header: header, archive: options.archive,
      settled: FileStatus.Time(seconds: fileTime.seconds - Self.settling, nanoseconds: fileTime.nanoseconds),
      selection: options.selection,
      hasOtherSelection: base.map { $0.footer.selection != options.selection } ?? false,
      readsEverything: options.readsEverything)
    previous = base.map { set.path($0.name.manifest) }
    try lock.note([header.name.archive])
    archive = try OutputFile(
      set.path(header.name.archive), isReplacing: false, isSynced: options.isSynced, isPrivate: true, in: run)
    manifest = try OutputFile(
      set.path(header.name.manifest), isReplacing: false, isSynced: options.isSynced, isPrivate: true, in: run
    )
    job = BackupJob(plan, archive: archive, manifest: manifest, report: report)
  }

  /// The paths of the sources, from the root.
  package var paths: [PathBytes] { sources.map(\.path) }

  /// What is left out of the walk: the folder of the set.
  package var excluded: FileIdentity? { StandardStreams.identity(of: set.directory) }

  /// - Parameter walk: takes everything.
  package func source(_ walk: WalkOptions, in run: RunContext) throws(BatchError) -> BackupSource {
    try BackupSource(
      run.tree(paths, options: walk), sources: sources, plan: plan,
      previous: previous.map { (path) throws(BatchError) in try SnapshotReader(path, in: run) })
  }

  /// Gives both files their names.
  ///
  /// - Throws: `unwritable`; then there is no snapshot.
  package func complete() throws(BatchError) {
    try archive.finish()
    do throws(BatchError) {
      try manifest.finish()
    } catch {
      // Without its manifest it is no part of a snapshot; the manifest is there when only its folder could not be synced.
      if !exists(header.name.manifest) { _ = set.path(header.name.archive).withCString { unlink($0) } }
      throw error
    }
    try lock.note([])
  }

  /// Removes both files.
  package func discard() {
    archive.discard()
    manifest.discard()
    // An archive that is there without a manifest is for the next run, which reads the note.
    if !exists(header.name.archive) { try? lock.note([]) }
  }

  private func exists(_ file: PathBytes) -> Bool {
    var raw = stat()
    return set.path(file).withCString { lstat($0, &raw) } == 0
  }

  /// The first second from a moment on whose name nothing has: the clock may have been set back.
  private static func freeName(_ set: BackupSet, _ content: BackupSet.Content, from seconds: Int64)
    -> SnapshotName
  {
    let taken = Set(content.snapshots.map(\.name.stamp)).union(content.archives.keys)
      .union(content.snapshots.flatMap(\.footer.needs.keys))
    var seconds = seconds
    while taken.contains(LocalTime.stamp(of: seconds)) { seconds += 1 }
    return SnapshotName(set: set.name, seconds: seconds)
  }

  // MARK: Sources

  private static func sources(_ paths: [PathBytes]) throws(BatchError) -> [SnapshotSource] {
    var sources = [SnapshotSource]()
    for path in paths {
      let place = try resolved(path)
      guard !sources.contains(where: { $0.path == place }) else { continue }
      var raw = stat()
      guard place.withCString({ lstat($0, &raw) }) == 0 else {
        throw .syscall("look at the source", errno: errno, path: path)
      }
      var identity: UInt64 = 0
      let failed = place.withCString { clinux_file_system_id($0, &identity) }
      guard failed == 0 else {
        throw .syscall("look at the file system of the source", errno: failed, path: path)
      }
      sources.append(SnapshotSource(path: place, fileSystem: String(identity, radix: 16)))
    }
    return sources.sorted { $0.path < $1.path }
  }

  /// The path from the root, with no dots in it.
  private static func resolved(_ path: PathBytes) throws(BatchError) -> PathBytes {
    let absolute = WorkingFolder.absolute(path)
    let names = absolute.bytes.split(separator: UInt8(ascii: "/")).filter {
      !$0.elementsEqual([UInt8(ascii: ".")])
    }
    guard !path.isEmpty, !path.containsNUL, absolute.isAbsolute else {
      throw BatchError(.missing, "the source is no path of a folder or file", path: path)
    }
    guard !names.contains(where: { $0.elementsEqual("..".utf8) }) else {
      guard let real = absolute.withCString({ realpath($0, nil) }) else {
        throw .syscall("look at the source", errno: errno, path: path)
      }
      defer { free(real) }
      return PathBytes(UnsafeRawBufferPointer(start: real, count: strlen(real)))
    }
    return PathBytes([UInt8(ascii: "/")] + names.joined(separator: [UInt8(ascii: "/")]))
  }

  /// - Throws: `invalid` when a source seems not to be mounted.
  private static func compare(_ sources: [SnapshotSource], with last: Snapshot) throws(BatchError) {
    for source in sources {
      guard let before = last.footer.sources.first(where: { $0.path == source.path }) else { continue }
      let remedy = Remedy.mountOrAllowEmpty
      guard before.fileSystem == source.fileSystem else {
        throw BatchError(
          .invalid, "the source is on another file system than when the snapshot before was made",
          path: source.path,
          remedy: remedy)
      }
      guard before.files > 0, let names = try? BackupSet.files(in: source.path) else { continue }
      // A new file system has no more than that.
      let none: Swift.Set<PathBytes> = [".", "..", "lost+found"]
      guard names.contains(where: { !none.contains($0) }) else {
        throw BatchError(
          .invalid, "the source is empty, and the snapshot before has \(before.files) files of it",
          path: source.path,
          remedy: remedy)
      }
    }
  }
}

extension BackupOptions {
  /// A word for what chooses among the files.
  package static func word(of choices: [String]) throws(BatchError) -> String {
    guard !choices.isEmpty else { return "" }
    return try withBytes(of: Array(choices.joined(separator: "\n").utf8)) { (raw) throws(BatchError) in
      String(try DigestStream(.sha256).digest(of: raw).hex.prefix(16))
    }
  }
}
