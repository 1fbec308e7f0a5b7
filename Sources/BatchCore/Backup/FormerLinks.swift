import BatchEngine

/// Files with several names in the snapshot before whose names are others now: a folder with some of them was renamed, moved
/// in or moved out, which changes nothing in the status of the files.
///
/// Such a file is archived again with all its names. So the rows of a file name one archive, which has the content under the
/// first of its names, and all of these names are in the snapshot.
struct FormerLinks: Sendable {
  /// What is known of one file.
  private struct Names {
    let links: UInt64
    let archive: String
    /// The name that has the content in the archive.
    let content: PathBytes
    /// Whether that is one of the names.
    var hasContent = false
    /// Nil when a name is gone, or is that of something else.
    var identity: FileIdentity?
    var count: UInt64 = 0
  }

  /// By the numbers of the snapshot before.
  private var broken: Set<UInt64> = []

  init() {}

  /// Looks for each name that the snapshot before has; where a file has more names than it had there, walks the tree for more.
  ///
  /// - Parameters:
  ///   - manifest: of the snapshot before.
  ///   - sources: of the backup.
  ///   - walk: as of the backup.
  /// - Throws: `malformed`, or why the run is to stop.
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
        let content = entry.firstName ?? entry.path
        var known =
          names[group]
          ?? Names(links: entry.linkCount, archive: entry.archive, content: content, identity: found)
        known.count += 1
        if entry.firstName == nil { known.hasContent = true }
        // A folder that was renamed during the backup leaves rows that do not fit together.
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
      guard case .file(let record) = item, record.status.kind == .regular, record.status.linkCount > 1,
        let group = open[record.status.identity]
      else { continue }
      counts[group, default: 0] += 1
    }
    for group in open.values where counts[group] != names[group]?.count { broken.insert(group) }
  }

  /// Whether a row of a file is not taken over although the file has not changed.
  func isBroken(_ entry: SnapshotEntry) -> Bool {
    entry.linkGroup.map { broken.contains($0) } ?? false
  }

  /// A source whose names are looked up without following links.
  private final class Source {
    private let path: PathBytes
    private let name: PathBytes
    /// Nil for a source that is no folder.
    private let live: LiveTree?
    /// The one that was looked at last: names of a folder follow each other.
    private var latest: (path: [UInt8], folder: OpenFolder?)?

    init(_ path: PathBytes, _ context: SourceContext) {
      self.path = path
      name = MemberNaming.name(of: path)
      live = try? LiveTree(path, options: WalkOptions(), in: context)
    }

    /// Nil where nothing is there that can be looked at.
    func status(of entry: PathBytes) -> FileStatus? {
      guard let live else { return entry == name ? try? path.status() : nil }
      var rest = entry.bytes[...]
      if name != "." {
        guard rest.starts(with: name.bytes) else { return nil }
        rest = rest.dropFirst(name.bytes.count + 1)
      }
      guard let place = try? RelativePath(PathBytes(rest)) else { return nil }
      return try? open(place.parent, in: live)?.look(at: place.name)
    }

    /// Nil where no such folder is there.
    private func open(_ path: ArraySlice<UInt8>, in live: LiveTree) -> OpenFolder? {
      if latest?.path.elementsEqual(path) != true {
        latest = nil
        latest = (Array(path), try? live.open(path))
      }
      return latest?.folder
    }
  }
}
