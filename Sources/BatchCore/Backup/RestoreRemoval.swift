import BatchEngine
import BatchOutputs
import var Glibc.EEXIST
import var Glibc.ENOTEMPTY

/// Removes from the target of a restore what the snapshot does not have, only below the folders that were its sources.
///
/// What the backup would have left out stays: names that its filter excludes, sockets, files of sets, and temporary files. So does
/// what is in folders that are tagged as caches, and on other file systems. Everything is counted and judged before the first
/// removal. No link is followed.
package struct RestoreRemoval: TargetCleaner {
  private struct Source: Sendable {
    /// The absolute path of the folder that was backed up.
    let path: PathBytes
    /// Its place below the target.
    let place: RelativePath
  }

  private struct Visit {
    let path: [UInt8]
    /// Whether the snapshot does not have the folder, so that its contents are removed too.
    let isDoomed: Bool
    /// Whether its contents were examined, so that it is removed itself.
    var isExamined = false
    /// The filter of the folder that contains it; nil for a source.
    var outer: TreeFilter?
  }

  private let snapshot: SnapshotName
  private let limit: RemovalLimit
  private let walk: WalkOptions
  private let sources: [Source]
  /// Hashes of the places of all rows, and of files that were left out by name. Of two places with one hash, both count as present.
  private let rows: Set<Int>
  private let selection: MemberSelection
  private let selectsAll: Bool
  /// Folders that are not entered.
  private let own: Set<FileIdentity>

  /// - Parameters:
  ///   - snapshot: with all facts of its manifest.
  ///   - selection: the selection of the restore; what it does not select stays.
  ///   - unmatched: texts of it that select nothing.
  /// - Throws: `refused` if the snapshot is incomplete, damaged or had failures, if its selection is unknown, and if a text selects
  ///   nothing.
  init(
    _ limit: RemovalLimit, _ snapshot: Snapshot, of set: BackupSet, _ content: BackupSet.Content,
    selection: MemberSelection, selectsAll: Bool, unmatched: [UnmatchedGlob], in run: RunContext
  ) throws(BatchError) {
    let footer = snapshot.footer
    func refuse(_ reason: String) -> BatchError {
      BatchError(
        .refused, "nothing is removed and nothing was restored: \(reason)",
        path: set.path(snapshot.name.manifest))
    }
    if footer.isCut { throw refuse("the snapshot \(snapshot.name.stamp) is not complete") }
    guard footer.failures == 0 else {
      throw refuse(
        footer.failures == nil
          ? "an earlier version made the snapshot, which did not record failures"
          : "some files could not be read when the snapshot was made")
    }
    guard content.faults(of: snapshot).isEmpty else {
      throw refuse("an archive that the snapshot needs is missing or has the wrong size")
    }
    guard try set.extent(of: set.foundDamage(), in: snapshot, run) == nil else {
      throw refuse("damage was found in an archive that the snapshot needs")
    }
    guard let filter = footer.filter ?? (footer.selection.isEmpty ? SnapshotFilter.none : nil) else {
      throw refuse("an earlier version made the snapshot, which did not record what the options left out")
    }
    do throws(BatchError) {
      walk = try filter.walkOptions()
    } catch {
      throw refuse(error.message)
    }
    if let glob = unmatched.first {
      throw BatchError(
        .refused, "nothing is removed and nothing was restored: nothing in the snapshot matches",
        path: glob.glob)
    }
    var (rows, folders): (Set<Int>, Set<Int>) = ([], [])
    let reader = try SnapshotReader(set.manifest(of: snapshot.name), in: SourceContext(run))
    while let item = try reader.next() {
      try run.cancellation.check()
      guard case .entry(let entry, _) = item, let place = try? RelativePath(entry.path) else { continue }
      rows.insert(place.bytes.hashValue)
      if entry.kind == .directory { folders.insert(place.bytes.hashValue) }
    }
    sources = footer.sources.compactMap { source in
      guard let place = source.place, folders.contains(place.bytes.hashValue) else { return nil }
      return Source(path: source.path, place: place)
    }
    for file in filter.files {
      if let place = try? RelativePath(MemberNaming.name(of: file)) { rows.insert(place.bytes.hashValue) }
    }
    own = Set([try? set.directory.status(followingLinks: true).identity].compactMap { $0 })
    (self.limit, self.rows, self.selection, self.selectsAll) = (limit, rows, selection, selectsAll)
    self.snapshot = snapshot.name
  }

  func clean(
    _ target: ContainedFolder, isDryRun: Bool, in context: CollectorContext,
    report: (ExtractionReport) throws(BatchError) -> Void
  ) throws(BatchError) -> Int {
    guard !target.isMissing else { return 0 }
    try judge(target, in: context)
    var count = 0
    for source in sources {
      var census = RemovalLimit.Census()
      try examine(source, of: target, &census, in: context) { (place, kind, folder) throws(BatchError) in
        if !isDryRun {
          let failed = folder.remove(place.name, isFolder: kind == .directory, by: context.commits)
          guard failed == 0 else {
            // A folder in which something is protected stays.
            if kind == .directory, failed == ENOTEMPTY || failed == EEXIST { return }
            let path = target.path.appending(place.bytes)
            context.counters.addFailed()
            return context.report(
              Problem(.unreadable, BatchError.syscall("remove", errno: failed, path: path)),
              severity: .failure)
          }
          if kind == .directory { target.forget(place) }
        }
        count += 1
        try report(ExtractionReport(removed: place, kind))
      }
    }
    return count
  }

  /// - Throws: `invalid` if more files would be removed than is allowed.
  private func judge(_ target: ContainedFolder, in context: CollectorContext) throws(BatchError) {
    var censuses: [(path: PathBytes, census: RemovalLimit.Census)] = []
    for source in sources {
      var census = RemovalLimit.Census()
      try examine(source, of: target, &census, in: context) { _, _, _ in }
      censuses.append((target.path.appending(source.place.bytes), census))
    }
    try limit.check(censuses, in: target.path)
  }

  /// Calls `body` for everything below a source that is to be removed, contents before their folders.
  private func examine(
    _ source: Source, of target: ContainedFolder, _ census: inout RemovalLimit.Census,
    in context: CollectorContext,
    _ body: (RelativePath, FileStatus.Kind, OpenFolder) throws(BatchError) -> Void
  ) throws(BatchError) {
    func open(_ path: ArraySlice<UInt8>) throws(BatchError) -> OpenFolder {
      try target.opener.folder(path, below: target.root, shown: target.path.appending(path))
    }
    var device: UInt64?
    /// Folders in which something stays.
    var staying: Set<[UInt8]> = []
    var stack = [Visit(path: source.place.bytes, isDoomed: false)]
    while var visit = stack.popLast() {
      try context.checkCancellation()
      let place = RelativePath(folder: visit.path, name: [])
      if visit.isExamined {
        if staying.contains(visit.path) {
          staying.insert(Array(place.parent))
        } else {
          try body(place, .directory, open(place.parent))
        }
        continue
      }
      let folder: OpenFolder
      do throws(BatchError) {
        folder = try open(visit.path[...])
      } catch {
        // A dry run has not created the source.
        guard error.isNotFound, device == nil else { throw error.at(target.path.appending(visit.path)) }
        return
      }
      guard folder.identity.device == device ?? folder.identity.device, !own.contains(folder.identity) else {
        staying.insert(Array(place.parent))
        continue
      }
      device = folder.identity.device
      let filter =
        visit.outer?.entering(place.name, folder) ?? TreeFilter(walk, operand: source.path, at: folder)
      if visit.isDoomed {
        visit.isExamined = true
        stack.append(visit)
      }
      for (name, kind) in try folder.entries() {
        let inner = RelativePath(folder: visit.path, name: name.bytes)
        let isFolder = kind == .directory
        if !isFolder { census.files += 1 }
        if !visit.isDoomed, rows.contains(inner.bytes.hashValue) {
          if isFolder { stack.append(Visit(path: inner.bytes, isDoomed: false, outer: filter)) }
          continue
        }
        guard selectsAll || !selection.matches(inner, isDirectory: isFolder).isEmpty, !filter.isCache,
          TemporaryName(name.bytes[...]) == nil, !SnapshotName.isOfSet(name.bytes, sets: [snapshot.set]),
          let status = try folder.look(at: name), status.kind != .socket, filter.takes(name, status)
        else {
          staying.insert(visit.path)
          continue
        }
        if isFolder {
          stack.append(Visit(path: inner.bytes, isDoomed: true, outer: filter))
        } else {
          census.doomed += 1
          try body(inner, kind, folder)
        }
      }
    }
  }
}

extension ExtractionReport {
  fileprivate init(removed place: RelativePath, _ kind: FileStatus.Kind) {
    self.init(
      path: PathBytes(place.bytes), kind: kind == .directory ? .directory : .file, outcome: .removed,
      place: place)
  }
}
