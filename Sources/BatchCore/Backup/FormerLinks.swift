import BatchEngine

/// Files with several names whose names have changed since the previous snapshot: a folder with some of the names was renamed
/// or moved, which does not change the status of the files.
///
/// Such a file is archived again with all its names. So all rows of a file refer to one archive, which contains the content
/// under its first name, and all these names are in the snapshot.
struct FormerLinks: Sendable {
  /// The names of one file.
  private struct Names {
    let links: UInt64
    let archive: String
    /// The name under which the archive contains the content.
    let content: PathBytes
    /// Whether that name is one of the names.
    var hasContent = false
    /// Nil if a name is gone, or belongs to another file now.
    var identity: FileIdentity?
    var count: UInt64 = 0
  }

  /// The link groups of the previous snapshot whose names have changed.
  private var broken: Set<UInt64> = []

  init() {}

  /// Looks up each name of the previous snapshot. If a file has more names now, walks the tree to find them.
  ///
  /// - Throws: `malformed`, or the reason when the run is to stop.
  init(
    in manifest: ManifestFile, of sources: [SnapshotSource], _ walk: WalkOptions, in context: SourceContext
  ) throws(BatchError) {
    var names: [UInt64: Names] = [:]
    let reader = try SnapshotReader(manifest, in: context)
    var source: Source?
    while let item = try reader.next(ofLinks: true) {
      try context.cancellation.check()
      switch item {
      case .source(let former):
        source = sources.contains { $0.path == former.path } ? Source(former.path, context) : nil
      case .entry(let entry, _):
        guard entry.kind == .file, entry.linkCount > 1, let group = entry.linkGroup else { continue }
        let found = source?.status(of: entry.path).flatMap { entry.isUnchanged($0) ? $0.identity : nil }
        let content = entry.contentName
        var known =
          names[group]
          ?? Names(links: entry.linkCount, archive: entry.archive, content: content, identity: found)
        known.count += 1
        if entry.firstName == nil || entry.isReference { known.hasContent = true }
        // If a folder was renamed during the backup, the rows do not fit together.
        if known.identity != found || known.archive != entry.archive || known.content != content {
          known.identity = nil
        }
        names[group] = known
      }
    }
    var open: [FileIdentity: UInt64] = [:]
    for (group, known) in names {
      guard let identity = known.identity, known.hasContent else {
        broken.insert(group)
        continue
      }
      if known.count != known.links { open[identity] = group }
    }
    guard !open.isEmpty else { return }
    var tree = context.tree(sources.map(\.path), options: walk)
    var counts: [UInt64: UInt64] = [:]
    while let item = tree.next() {
      try context.cancellation.check()
      guard case .item(.file(let record)) = item, record.status.kind == .regular, record.status.linkCount > 1,
        let group = open[record.status.identity]
      else { continue }
      counts[group, default: 0] += 1
    }
    for group in open.values where counts[group] != names[group]?.count { broken.insert(group) }
  }

  /// Whether a row is not kept although the file has not changed.
  func isBroken(_ entry: SnapshotEntry) -> Bool {
    entry.linkGroup.map { broken.contains($0) } ?? false
  }

  /// A source whose names are looked up without following links.
  private final class Source {
    private let path: PathBytes
    private let name: PathBytes
    /// Nil for a source that is not a folder.
    private let live: LiveTree?
    /// The last folder: names of one folder follow each other.
    private var latest: (path: [UInt8], folder: OpenFolder?)?

    init(_ path: PathBytes, _ context: SourceContext) {
      self.path = path
      name = MemberNaming.name(of: path)
      live = try? LiveTree(path, options: WalkOptions(), in: context)
    }

    /// Nil if the path does not exist or cannot be examined.
    func status(of entry: PathBytes) -> FileStatus? {
      guard let live else { return entry == name ? try? path.status(followingLinks: true) : nil }
      var rest = entry.bytes[...]
      if name != "." {
        guard rest.starts(with: name.bytes) else { return nil }
        rest = rest.dropFirst(name.bytes.count + 1)
      }
      guard let place = try? RelativePath(PathBytes(rest)) else { return nil }
      return try? open(place.parent, in: live)?.look(at: place.name)
    }

    /// Nil if there is no such folder.
    private func open(_ path: ArraySlice<UInt8>, in live: LiveTree) -> OpenFolder? {
      if latest?.path.elementsEqual(path) != true {
        latest = nil
        latest = (Array(path), try? live.open(path))
      }
      return latest?.folder
    }
  }
}
