import BatchEngine

/// One step of a backup.
package enum BackupItem: Sendable {
  /// A mount point below the source, which has content.
  case mount(PathBytes)
  /// An item to archive, with its row as far as the walk knows it; blocks have no row.
  case archive(ArchiveItem, PlannedRow?)
  /// A seemingly unchanged file: it is read, and archived if its content has changed.
  case check(FileRecord, ArchiveItem, PlannedRow, before: SnapshotEntry, line: [UInt8])
  /// A further name of a file, after a row for its first name, without a member of its own.
  case further(PlannedRow)
  /// A large file that is read first, since its content may be known.
  case probe(ProbedFile)
  /// A part of a large file whose content turned out to be unknown: its header, with the row, or a block.
  case late(ProbedFile, ArchiveItem, PlannedRow?, isLast: Bool)

  /// What is archived; nil for an item that is never archived itself.
  var archived: ArchiveItem? {
    switch self {
    case .mount, .further, .probe: nil
    case .archive(let item, _), .check(_, let item, _, _, _), .late(_, let item, _, _): item
    }
  }
}

extension ArchiveItem {
  /// Whether it is a further name of a file, which gets no member of its own beside known contents.
  var isFurtherName: Bool {
    if case .link(let record, let first) = self { first != record.path } else { false }
  }
}

/// Compares the sources with the manifest of the previous snapshot, which has the same order. Yields new and changed files to
/// archive, and the unchanged rows of the others, which need no worker.
package struct BackupSource: BatchSource {
  package let asked: AskedItems<BackupItem>?
  /// Rows that are yielded together.
  private static let mostKept = 256

  private var archive: ArchiveSource
  private let sources: [SnapshotSource]
  private let plan: BackupPlan
  private var previous: PreviousRows?
  /// The last path whose item was yielded.
  private var reached: ReachedPath?
  /// Bytes of the items so far.
  private var planned: UInt64 = 0
  /// The source in which the walk is.
  private var current = -1
  private var kept = KeptRows()
  /// What is yielded next.
  private var held: [Yielded<BackupItem, BackupRow>] = []
  private var isAtEnd = false
  private let former: FormerLinks
  private let reread: RereadFiles
  /// Folders whose files of sets are left out, with the names of these sets.
  private let ownFolders: [FileIdentity: Set<PathBytes>]
  private var mounts = MountFinder()
  /// Numbers for files with several names, in the order of their first names.
  private var linkGroups: [FileIdentity: UInt64] = [:]
  private var plannedRows: UInt64 = 0

  /// - Parameters:
  ///   - tree: the tree of a walk over the sources that takes everything.
  ///   - former: unchanged files whose rows are not kept, because their names have changed.
  ///   - reread: the large files that were read in advance, if all files are read.
  ///   - ownFolders: folders in which files of sets are not archived, with the names of their sets.
  init(
    _ tree: TreeSource, sources: [SnapshotSource], plan: BackupPlan, previous: PreviousRows?,
    former: FormerLinks, reread: RereadFiles, ownFolders: [FileIdentity: Set<PathBytes>] = [:]
  ) throws(BatchError) {
    asked = plan.asked
    self.ownFolders = ownFolders
    self.former = former
    self.reread = reread
    archive = try ArchiveSource(tree, options: plan.archive, operandCount: 1)
    self.sources = sources
    self.plan = plan
    self.previous = previous
  }

  package mutating func next() throws(BatchError) -> Yielded<BackupItem, BackupRow>? {
    while held.isEmpty, !isAtEnd {
      if let block = archive.nextBlock() { return .item(.archive(block, nil)) }
      if let reached, plan.cut.isDue(after: planned) {
        plan.cut.note(reached)
        isAtEnd = true
        yieldKept()
        break
      }
      guard let walked = archive.walk() else {
        isAtEnd = true
        yieldKept()
        break
      }
      try take(walked)
    }
    return held.isEmpty ? nil : held.removeFirst()
  }

  private mutating func take(_ walked: Walked) throws(BatchError) {
    guard case .item(.file(let record)) = walked else {
      yieldKept()
      switch archive.item(for: walked) {
      case .item(let item): held.append(.item(.archive(item, nil)))
      case .problem(let problem): held.append(.problem(problem))
      }
      return
    }
    if let index = sources.index(beginningWith: record, behind: current) {
      current = index
      yieldKept()
      held.append(.row(.source(sources[index])))
      let path = sources[index].path
      try previous?.enter(path)
    }
    guard !isOfSet(record) else {
      plan.leftOut.add()
      return
    }
    for mount in mounts.take(record) { held.append(.item(.mount(mount))) }
    let path = MemberNaming.name(of: record.path)
    if current >= 0 {
      reached = ReachedPath(
        source: sources[current].path, path: path, isFolder: record.status.kind == .directory)
    }
    let before = try previous?.find(path.bytes, isFolder: record.status.kind == .directory)
    if let entry = before?.0, entry.kind == .file, entry.isUnsettled {
      var settled = entry
      settled.isUnsettled = false
      if settled.isUnchanged(record.status) { plan.repeated.add() }
    }
    if let (entry, line) = before,
      entry.isUnchanged(record.status), !plan.isDoubtful(entry), !former.isBroken(entry)
    {
      let (entry, line, isFurther) = kept(entry, line, record.status)
      guard plan.readsEverything, entry.digest != nil else {
        if plan.header.isFull {
          yieldKept()
          yield(record, walked, path, before: nil)
        } else {
          keep(entry, line, isFurther)
        }
        return
      }
      guard !archive.isLarge(record) else {
        let finding = reread.finding(about: record.path)
        if finding == .rotten {
          yieldKept()
          held.append(.row(.rotten(record.path)))
        }
        if finding == nil && !plan.header.isFull || finding == .rotten && !plan.acceptsRot {
          keep(entry, line, isFurther)
        } else {
          yieldKept()
          yield(record, walked, path, before: nil)
        }
        return
      }
      yieldKept()
      yield(record, walked, path, before: (entry, line))
      return
    }
    yieldKept()
    yield(record, walked, path, before: nil, former: before?.0)
  }

  /// Whether a file belongs to a set in the folder of the set, or in that of its copies.
  private func isOfSet(_ record: FileRecord) -> Bool {
    guard !ownFolders.isEmpty, let folder = record.directory.identity, let sets = ownFolders[folder],
      record.status.kind == .regular
    else { return false }
    var name = [UInt8]()
    record.appendName(to: &name)
    return SnapshotName.isOfSet(name, sets: sets)
  }

  /// A row of the previous snapshot with the link group of its file in this one.
  private mutating func kept(
    _ entry: SnapshotEntry, _ line: [UInt8], _ status: FileStatus
  ) -> (SnapshotEntry, line: [UInt8], isFurther: Bool) {
    guard let (group, isFurther) = linkGroup(of: status) else { return (entry, line, false) }
    guard group != entry.linkGroup else { return (entry, line, isFurther) }
    var entry = entry
    entry.linkGroup = group
    return (entry, entry.line, isFurther)
  }

  /// Nil for a file with one name, and for all other kinds.
  private mutating func linkGroup(of status: FileStatus) -> (group: UInt64, isFurther: Bool)? {
    guard status.kind == .regular, status.linkCount > 1 else { return nil }
    if let known = linkGroups[status.identity] { return (known, true) }
    let group = UInt64(linkGroups.count + 1)
    linkGroups[status.identity] = group
    return (group, false)
  }

  private mutating func keep(_ entry: SnapshotEntry, _ line: [UInt8], _ isFurther: Bool) {
    kept.append(entry, line: line, isFurther: isFurther)
    if let counted = plan.counted, let reached, counted.includes(reached) { kept.recounted += 1 }
    if kept.count >= Self.mostKept { yieldKept() }
  }

  private mutating func yield(
    _ record: FileRecord, _ walked: Walked, _ path: PathBytes,
    before: (entry: SnapshotEntry, line: [UInt8])?, former: SnapshotEntry? = nil
  ) {
    let item: ArchiveItem
    switch archive.item(for: walked) {
    case .item(let found): item = found
    case .problem(let problem): return held.append(.problem(problem))
    }
    var entry = SnapshotEntry(record.status, path: path, archive: plan.stamp)
    entry.linkGroup = linkGroup(of: record.status)?.group
    // For a file with content, a lane determines this just before it reads the file.
    entry.isUnsettled = record.status.kind != .regular && !plan.settling.isSettled(record.status)
    if case .link(_, let first) = item { entry.firstName = MemberNaming.name(of: first) }
    plannedRows += 1
    // A part of a run ends behind the part before it, also if files of that have to be read again.
    if let reached, plan.continued?.includes(reached) != true {
      planned.addWithinRange(UInt64(clamping: ArchiveItem.storedSize(of: record)))
    }
    let row = PlannedRow(number: plannedRows, entry: entry)
    // A seemingly unchanged file is checked, also a large one: other content is rot.
    if plan.known != nil, before == nil {
      // The content of the first name may be a reference, to which no member can be a link.
      if item.isFurtherName { return held.append(.item(.further(row))) }
      if record.status.kind == .regular, record.status.size >= Int64(BlockList.smallestFile) {
        if case .header = item { archive.dropBlocks() }
        return held.append(
          .item(.probe(ProbedFile(record, item, row, before: former.flatMap { isUsable($0) ? $0 : nil }))))
      }
    }
    if let before {
      held.append(.item(.check(record, item, row, before: before.entry, line: before.line)))
    } else {
      held.append(.item(.archive(item, row)))
    }
  }

  /// Whether a row of the previous snapshot can be the base of a file that has changed in part.
  private func isUsable(_ entry: SnapshotEntry) -> Bool {
    entry.kind == .file && !plan.damage.contains(entry)
      && !entry.places.contains { plan.unwanted.contains($0.archive) }
  }

  private mutating func yieldKept() {
    guard kept.count > 0 else { return }
    held.append(.row(.kept(kept)))
    kept = KeptRows()
  }

  package var filteredCount: Int { archive.filteredCount }

  package func weight(of item: BackupItem) -> Int64 {
    switch item {
    // A large file that is read first is an operation of its own. So is each part that is archived late: rows of other items would
    // otherwise be collected at the place of that file.
    case .probe, .late: .max
    default: item.archived.map { archive.weight(of: $0) } ?? 0
    }
  }

  package func count(of item: BackupItem) -> Int {
    switch item {
    case .mount, .late: 0
    case .further, .probe: 1
    case .archive(let item, _), .check(_, let item, _, _, _): archive.count(of: item)
    }
  }

  package func retained(by item: BackupItem) -> Int64 {
    item.archived.map { archive.retained(by: $0) + 1024 } ?? 1024
  }

  package func count(ofRow row: BackupRow) -> Int {
    if case .kept(let rows) = row { rows.count - rows.recounted } else { 0 }
  }

  package func retained(byRow row: BackupRow) -> Int64 {
    if case .kept(let rows) = row { Int64(rows.lines.count) } else { 512 }
  }
}

extension [SnapshotSource] {
  /// The source after `current` whose first record this is.
  func index(beginningWith record: FileRecord, behind current: Int) -> Int? {
    let isFolder = record.status.kind == .directory && record.directory.depth == 0
    guard record.isOperand || isFolder else { return nil }
    var path = record.path.bytes
    while path.count > 1, path.last == UInt8(ascii: "/") { path.removeLast() }
    return self[(current + 1)...].firstIndex { $0.path.bytes == path }
  }
}

/// The rows of the previous snapshot, requested in the order of the walk: those of a snapshot that was cut up to the path that it
/// reached, and beyond it those of the last complete one.
struct PreviousRows {
  private var cut: RowsOfManifest?
  private let reached: ReachedPath?
  private var complete: RowsOfManifest?
  private var source: PathBytes = ""

  /// - Parameters:
  ///   - cut: a snapshot that was cut, with the path that it reached.
  ///   - complete: nil if there is none.
  init(
    cut: (reader: SnapshotReader, reached: ReachedPath)?, complete: SnapshotReader?
  ) throws(BatchError) {
    self.cut = try cut.map { (cut) throws(BatchError) in try RowsOfManifest(cut.reader) }
    reached = cut?.reached
    self.complete = try complete.map { (reader) throws(BatchError) in try RowsOfManifest(reader) }
  }

  /// Skips to the rows of a source.
  mutating func enter(_ path: PathBytes) throws(BatchError) {
    source = path
    try cut?.enter(path)
    try complete?.enter(path)
  }

  /// The row of a path of the source; skips the rows of removed files.
  mutating func find(_ path: [UInt8], isFolder: Bool) throws(BatchError) -> (SnapshotEntry, line: [UInt8])? {
    if let reached, reached.includes(path, isFolder: isFolder, of: source) {
      return try cut?.find(path, isFolder: isFolder)
    }
    return try complete?.find(path, isFolder: isFolder)
  }
}

/// The rows of a manifest, requested in the order of the walk.
private struct RowsOfManifest {
  private let reader: SnapshotReader
  private var item: SnapshotReader.Item?

  init(_ reader: SnapshotReader) throws(BatchError) {
    self.reader = reader
    item = try reader.next()
  }

  mutating func enter(_ path: PathBytes) throws(BatchError) {
    while let current = item {
      // Sources are sorted: if a later one comes next, the requested one is new.
      if case .source(let source) = current, source.path >= path {
        if source.path == path { item = try reader.next() }
        return
      }
      item = try reader.next()
    }
  }

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
    case .mount(let path): path
    case .further(let row): row.entry.path
    case .probe(let file): file.record.path
    case .archive(let item, _), .check(_, let item, _, _, _), .late(_, let item, _, _): item.path
    }
  }
}
