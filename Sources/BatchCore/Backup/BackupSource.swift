import BatchEngine

/// One step of a backup.
package enum BackupItem: Sendable {
  /// What follows belongs to a further source.
  case source(SnapshotSource)
  /// What has not changed since the snapshot before.
  case kept(KeptRows)
  /// What is archived, and its row as far as the walk knows it; blocks and problems have none.
  case archive(ArchiveItem, SnapshotEntry?)
  /// What seems not to have changed: it is read, and archived when its bytes are others after all.
  case check(FileRecord, ArchiveItem, SnapshotEntry, before: SnapshotEntry, line: [UInt8])
}

/// Goes over the sources and the manifest of the snapshot before, which are in the same order, and yields what is new
/// or changed to be archived, and the rows of the rest as they are.
package struct BackupSource: BatchSource {
  /// Rows that go to a worker together.
  private static let mostKept = 256

  private var archive: ArchiveSource
  private let sources: [SnapshotSource]
  private let plan: BackupPlan
  private var previous: PreviousRows?
  /// Which of the sources the walk is in.
  private var current = -1
  private var kept = KeptRows()
  /// What comes behind the rows that are kept.
  private var held: [BackupItem] = []
  private var isAtEnd = false
  private let former: FormerLinks
  private let reread: RereadFiles
  /// Of files with several names, in the order of their first ones.
  private var linkGroups: [FileIdentity: UInt64] = [:]

  /// - Parameters:
  ///   - tree: of a walk over the sources that takes everything.
  ///   - former: what of the snapshot before is not taken over although it has not changed.
  ///   - reread: large files that were read, where all are to be.
  init(
    _ tree: TreeSource, sources: [SnapshotSource], plan: BackupPlan, previous: SnapshotReader?,
    former: FormerLinks, reread: RereadFiles
  ) throws(BatchError) {
    self.former = former
    self.reread = reread
    archive = try ArchiveSource(tree, options: plan.archive)
    self.sources = sources
    self.plan = plan
    self.previous = try previous.map { (reader) throws(BatchError) in try PreviousRows(reader) }
  }

  package mutating func next() throws(BatchError) -> BackupItem? {
    while held.isEmpty, !isAtEnd {
      if let block = archive.nextBlock() { return .archive(block, nil) }
      guard let walked = archive.walk() else {
        isAtEnd = true
        yieldKept()
        break
      }
      try take(walked)
    }
    return held.isEmpty ? nil : held.removeFirst()
  }

  private mutating func take(_ walked: WalkItem) throws(BatchError) {
    guard case .file(let record) = walked else {
      yieldKept()
      held.append(.archive(archive.item(for: walked), nil))
      return
    }
    if let index = sources.index(beginningWith: record, behind: current) {
      current = index
      yieldKept()
      held.append(.source(sources[index]))
      let path = sources[index].path
      try previous?.enter(path)
    }
    let path = MemberNaming.name(of: record.path)
    let before = try previous?.find(path.bytes, isFolder: record.status.kind == .directory)
    if let entry = before?.0, entry.kind == .file, entry.isUnsettled {
      var settled = entry
      settled.isUnsettled = false
      if settled.isUnchanged(record.status) { plan.repeated.add() }
    }
    if let (entry, line) = before,
      entry.isUnchanged(record.status), !plan.isDoubtful(entry), !former.isBroken(entry)
    {
      let (entry, line) = kept(entry, line, record.status)
      guard plan.readsEverything, entry.digest != nil else {
        keep(entry, line)
        return
      }
      guard !archive.isLarge(record) else {
        if reread.haveChanged(record.path) {
          yieldKept()
          yield(record, walked, path, before: nil)
        } else {
          keep(entry, line)
        }
        return
      }
      yieldKept()
      yield(record, walked, path, before: (entry, line))
      return
    }
    yieldKept()
    yield(record, walked, path, before: nil)
  }

  /// A row of the snapshot before with the group that its file has in this one.
  private mutating func kept(
    _ entry: SnapshotEntry, _ line: [UInt8], _ status: FileStatus
  ) -> (SnapshotEntry, line: [UInt8]) {
    guard let group = linkGroup(of: status), group != entry.linkGroup else { return (entry, line) }
    var entry = entry
    entry.linkGroup = group
    var line = [UInt8]()
    entry.appendLine(to: &line)
    line.removeLast()
    return (entry, line)
  }

  /// Nil for a file with one name, and for all other kinds.
  private mutating func linkGroup(of status: FileStatus) -> UInt64? {
    guard status.kind == .regular, status.linkCount > 1 else { return nil }
    if let known = linkGroups[status.identity] { return known }
    let group = UInt64(linkGroups.count + 1)
    linkGroups[status.identity] = group
    return group
  }

  private mutating func keep(_ entry: SnapshotEntry, _ line: [UInt8]) {
    kept.append(entry, line: line)
    if kept.count >= Self.mostKept { yieldKept() }
  }

  private mutating func yield(
    _ record: FileRecord, _ walked: WalkItem, _ path: PathBytes,
    before: (entry: SnapshotEntry, line: [UInt8])?
  ) {
    let item = archive.item(for: walked)
    var entry = SnapshotEntry(record.status, path: path, archive: plan.stamp)
    entry.linkGroup = linkGroup(of: record.status)
    // A lane answers that of a file with content, just before it reads it.
    entry.isUnsettled = record.status.kind != .regular && !plan.settling.isSettled(record.status)
    if case .link(_, let first) = item { entry.firstName = MemberNaming.name(of: first) }
    if let before {
      held.append(.check(record, item, entry, before: before.entry, line: before.line))
    } else {
      held.append(.archive(item, entry))
    }
  }

  private mutating func yieldKept() {
    guard kept.count > 0 else { return }
    held.append(.kept(kept))
    kept = KeptRows()
  }

  package var filteredCount: Int { archive.filteredCount }

  package func weight(of item: BackupItem) -> Int64 {
    switch item {
    case .source, .kept: 0
    case .archive(let item, _), .check(_, let item, _, _, _): archive.weight(of: item)
    }
  }

  package func count(of item: BackupItem) -> Int {
    switch item {
    case .source: 0
    case .kept(let rows): rows.count
    case .archive(let item, _), .check(_, let item, _, _, _): archive.count(of: item)
    }
  }

  package func retained(by item: BackupItem) -> Int64 {
    switch item {
    case .source: 512
    case .kept(let rows): Int64(rows.lines.count)
    case .archive(let item, _), .check(_, let item, _, _, _): archive.retained(by: item) + 1024
    }
  }
}

extension [SnapshotSource] {
  /// The source behind one that a record of the walk is the first of.
  func index(beginningWith record: FileRecord, behind current: Int) -> Int? {
    let isFolder = record.status.kind == .directory && record.directory.depth == 0
    guard record.isOperand || isFolder else { return nil }
    var path = record.path.bytes
    while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
    return self[(current + 1)...].firstIndex { $0.path.bytes == path }
  }
}

/// The rows of the snapshot before, asked for in the order of the walk.
struct PreviousRows {
  private let reader: SnapshotReader
  private var item: SnapshotReader.Item?

  init(_ reader: SnapshotReader) throws(BatchError) {
    self.reader = reader
    item = try reader.next()
  }

  /// Passes over what comes before the rows of a source.
  mutating func enter(_ path: PathBytes) throws(BatchError) {
    while let current = item {
      // Sources are sorted: one that comes later has to wait, and this one is new.
      if case .source(let source) = current, source.path >= path {
        if source.path == path { item = try reader.next() }
        return
      }
      item = try reader.next()
    }
  }

  /// The row of a path of the source; passes over rows of what is gone.
  mutating func find(_ path: [UInt8], isFolder: Bool) throws(BatchError) -> (SnapshotEntry, line: [UInt8])? {
    while case .entry(let entry, let line) = item {
      let order = TreeOrder.compare(
        entry.path.bytes, isFolder: entry.kind == .directory, path, isFolder: isFolder)
      if order > 0 { return nil }
      item = try reader.next()
      if order == 0 { return (entry, line) }
    }
    return nil
  }
}

extension BackupItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .source, .kept: nil
    case .archive(let item, _), .check(_, let item, _, _, _): item.path
    }
  }
}
