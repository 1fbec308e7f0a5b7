import BatchEngine

/// Examines the sources of a backup, and detects that a disk is missing: a source or a mount point that had files in the
/// snapshot before has none now.
struct SourceGuard {
  /// The sources in the order of a manifest, each once. A source that is a symbolic link is followed.
  ///
  /// - Parameter paths: as they were given.
  /// - Throws: `missing` for a source that is missing, or a link that leads nowhere.
  static func sources(_ paths: [PathBytes]) throws(BatchError) -> [SnapshotSource] {
    var sources = [SnapshotSource]()
    var known: Set<PathBytes> = []
    for path in paths {
      let place = try resolved(path)
      guard known.insert(place).inserted else { continue }
      do throws(BatchError) {
        _ = try place.status(followingLinks: true)
        sources.append(
          SnapshotSource(
            path: place, fileSystem: String(try place.fileSystemID(), radix: 16),
            fileSystemUUID: place.fileSystemUUID()))
      } catch {
        guard error.isNotFound, (try? place.status())?.kind == .symbolicLink else {
          throw .syscall("look at the source", errno: error.errno, path: path)
        }
        throw BatchError(
          .missing, "the source is a symbolic link that leads nowhere", path: path, errno: error.errno,
          remedy: "mount the file system that it leads to")
      }
    }
    return sources.sorted { $0.path < $1.path }
  }

  /// The absolute path without dots.
  private static func resolved(_ path: PathBytes) throws(BatchError) -> PathBytes {
    let absolute = WorkingFolder.absolute(path)
    let names = absolute.bytes.split(separator: UInt8(ascii: "/")).filter {
      !$0.elementsEqual([UInt8(ascii: ".")])
    }
    guard !path.isEmpty, !path.containsNUL, absolute.isAbsolute else {
      throw BatchError(.missing, "the source is not the path of a folder or file", path: path)
    }
    func joined(_ names: some Sequence<ArraySlice<UInt8>>) -> PathBytes {
      PathBytes([UInt8(ascii: "/")] + names.joined(separator: [UInt8(ascii: "/")]))
    }
    let isParent = { (name: ArraySlice<UInt8>) in name.elementsEqual("..".utf8) }
    guard names.contains(where: isParent) else { return joined(names) }
    do throws(BatchError) {
      // A source has its own name also if it is a link.
      let plain = joined(names)
      if let last = names.last, !isParent(last), (try? plain.status())?.kind == .symbolicLink {
        return try joined(names.dropLast()).resolved().appending(last)
      }
      return try plain.resolved()
    } catch {
      throw .syscall("look at the source", errno: error.errno, path: path)
    }
  }

  /// - Throws: `invalid` if the folder of the set is one of the sources: a snapshot would contain the archives of the set.
  static func refuse(_ folder: PathBytes, among sources: [SnapshotSource]) throws(BatchError) {
    guard let target = try? folder.status(followingLinks: true) else { return }
    for source in sources {
      guard (try? source.path.status(followingLinks: true))?.identity == target.identity else { continue }
      throw BatchError(
        .invalid, "is a source of the backup: its archives would be archived again each time",
        path: folder, remedy: "give another directory, which may be below the source")
    }
  }

  // MARK: The snapshot before

  /// - Parameter manifest: that of the snapshot before.
  /// - Throws: `invalid` for a source that seems to be not mounted, or is not what it was.
  static func compare(
    _ sources: [SnapshotSource], with last: Snapshot, _ manifest: ManifestFile, _ options: BackupOptions,
    in run: RunContext
  ) throws(BatchError) {
    let former = Dictionary(last.footer.sources.map { ($0.path, $0) }) { first, _ in first }
    let pairs = sources.compactMap { source in former[source.path].map { (now: source, before: $0) } }
    if !options.allowsEmpty { try compareKinds(pairs, manifest, in: run) }
    guard !options.allowsOtherFileSystem else { return }
    for (source, before) in pairs
    where before.files > 0 && !source.hasFileSystem(of: before) && !isEmpty(source.path, run.calls) {
      if try sharesFiles(source, with: manifest, in: run) { continue }
      throw BatchError(
        .invalid,
        "the source is on another file system than when the snapshot before was made, and has none of its files",
        path: source.path, remedy: .mountOrAllowOtherFileSystem)
    }
  }

  /// Whether a source has a file of the snapshot before: with the same path, inode, size and time of modification.
  private static func sharesFiles(
    _ source: SnapshotSource, with manifest: ManifestFile, in run: RunContext
  ) throws(BatchError) -> Bool {
    do throws(BatchError) {
      let reader = try SnapshotReader(manifest, in: SourceContext(run))
      var isInside = false
      while let item = try reader.next() {
        try run.cancellation.check()
        guard case .entry(let entry, _) = item else {
          if isInside { return false }
          if case .source(let next) = item { isInside = next.path == source.path }
          continue
        }
        guard isInside, entry.kind == .file else { continue }
        let path = PathBytes([UInt8(ascii: "/")] + entry.path.bytes)
        guard let status = try? run.calls.status(of: path, followingLinks: path == source.path) else {
          continue
        }
        if status.kind == .regular, status.identity.inode == entry.inode, status.modified == entry.modified,
          UInt64(clamping: status.size) == entry.size
        {
          return true
        }
      }
    } catch {
      try run.cancellation.check()
    }
    return false
  }

  private static func compareKinds(
    _ pairs: [(now: SnapshotSource, before: SnapshotSource)], _ manifest: ManifestFile, in run: RunContext
  ) throws(BatchError) {
    // A source with one file may have been that file. The rows are read only if that matters.
    let single = pairs.filter { $0.before.files == 1 }.map(\.now.path)
    let kinds = single.isEmpty ? [:] : try self.kinds(of: single, manifest, in: run)
    for (source, before) in pairs where before.files > 0 {
      guard let status = try? run.calls.status(of: source.path, followingLinks: true) else { continue }
      let kind = before.files > 1 ? .directory : kinds[source.path]
      guard status.kind == .directory else {
        if kind == .directory || kind == .file && status.kind != .regular {
          throw refusal(
            source, "is \(status.kind.text) now, and the snapshot before has \(files(before)) of it")
        }
        continue
      }
      if kind == .file { throw refusal(source, "is a folder now, and was a file in the snapshot before") }
      if isEmpty(source.path, run.calls) {
        throw refusal(source, "is empty, and the snapshot before has \(files(before)) of it")
      }
    }
  }

  private static func files(_ source: SnapshotSource) -> String {
    source.files == 1 ? "a file" : "\(source.files) files"
  }

  private static func refusal(_ source: SnapshotSource, _ reason: String) -> BatchError {
    BatchError(.invalid, "the source \(reason)", path: source.path, remedy: .mountOrAllowEmpty)
  }

  /// Whether a folder has nothing but what a new file system contains; false if it cannot be read.
  private static func isEmpty(_ folder: PathBytes, _ calls: any FileSystemCalls) -> Bool {
    guard let names = try? calls.names(in: folder) else { return false }
    return names.allSatisfy { [".", "..", "lost+found"].contains($0) }
  }

  /// What sources were, by the first row of each; empty for a manifest that is damaged.
  private static func kinds(
    of sources: [PathBytes], _ manifest: ManifestFile, in run: RunContext
  ) throws(BatchError) -> [PathBytes: ArchiveEntry.Kind] {
    var kinds: [PathBytes: ArchiveEntry.Kind] = [:]
    do throws(BatchError) {
      let reader = try SnapshotReader(manifest, in: SourceContext(run))
      var source: PathBytes?
      while kinds.count < sources.count, let item = try reader.next() {
        try run.cancellation.check()
        switch item {
        case .source(let next): source = sources.contains(next.path) ? next.path : nil
        case .entry(let entry, _):
          if let source { kinds[source] = entry.kind }
          source = nil
        }
      }
    } catch {
      try run.cancellation.check()
    }
    return kinds
  }

  /// Checks that file systems that were mounted below the sources still are.
  ///
  /// - Parameter former: the sources of the snapshot before.
  /// - Throws: `invalid` for a mount point with content in the snapshot before that is missing, or is an empty folder now.
  static func checkMounts(
    of former: [SnapshotSource], _ sources: [SnapshotSource], _ walk: WalkOptions,
    _ calls: any FileSystemCalls
  ) throws(BatchError) {
    guard !walk.staysOnFileSystem else { return }
    let chosen = Set(sources.map(\.path))
    for source in former where chosen.contains(source.path) {
      for mount in source.mounts where !isLeftOut(mount, of: source.path, walk) {
        let path = PathBytes([UInt8(ascii: "/")] + mount.bytes)
        let status: FileStatus
        do throws(BatchError) {
          status = try calls.status(of: path)
        } catch {
          guard error.isNotFound || error.isNoFolder else { continue }
          throw refusal(path, "is missing")
        }
        guard status.kind == .directory else { throw refusal(path, "is \(status.kind.text) now") }
        let above = try? calls.status(of: path.parent, followingLinks: true)
        if above?.identity.device == status.identity.device, isEmpty(path, calls) {
          throw refusal(path, "is an empty folder now")
        }
      }
    }
  }

  private static func refusal(_ mount: PathBytes, _ reason: String) -> BatchError {
    BatchError(
      .invalid, "a file system was mounted here when the snapshot before was made, and it \(reason)",
      path: mount, remedy: .mountOrAllowEmpty)
  }

  /// Whether the rules of the walk skip a folder, or one on the way to it.
  private static func isLeftOut(_ folder: PathBytes, of source: PathBytes, _ walk: WalkOptions) -> Bool {
    guard let filter = walk.filter else { return false }
    let operand = source.appending([]).bytes
    let path = Array(([UInt8(ascii: "/")] + folder.bytes).dropFirst(operand.count))
    let rules = filter.below(operand[...])
    var start = 0
    while start < path.count {
      let end = path[start...].firstIndex(of: UInt8(ascii: "/")) ?? path.endIndex
      let part = Array(path[..<end])
      let decision = rules.decision(relativePath: part.span, nameStart: start, isDirectory: true)
      if decision == .skip { return true }
      start = end + 1
    }
    return false
  }
}
