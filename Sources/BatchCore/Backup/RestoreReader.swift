import BatchEngine

/// The members of a snapshot, archive by archive, for an extraction into one folder.
package struct RestoreReader: BatchReader {
  package typealias Item = ExtractionItem
  package typealias Row = ExtractionRow

  private struct Part {
    let archive: SnapshotName
    /// Each member once: several files with one content are in several parts.
    let names: MemberNames
  }

  private let options: ExtractionOptions
  private let strip: Int
  private let set: BackupSet
  private let rows: Rows
  private let parts: [Part]
  /// Which paths are restored.
  let selection: MemberSelection
  /// The rows from which the files are chosen.
  private enum Rows {
    case manifest(ManifestFile)
    case entries([SnapshotEntry])

    func forEach(
      in context: SourceContext, _ body: (SnapshotEntry) throws(BatchError) -> Void
    ) throws(BatchError) {
      switch self {
      case .manifest(let manifest):
        let reader = try SnapshotReader(manifest, in: context)
        while let item = try reader.next() {
          try context.cancellation.check()
          if case .entry(let entry, _) = item { try body(entry) }
        }
      case .entries(let entries): for entry in entries { try body(entry) }
      }
    }
  }

  /// Files whose contents are in several members, in the order of the manifest.
  private let joined: [(row: SnapshotEntry, place: RelativePath, digest: Digest?)]
  private let isEncrypted: Bool

  /// Further names of files, which are created after all files.
  private let links: [Link]

  private struct Link {
    /// The path in the manifest, and its place below the target.
    let path: PathBytes
    let place: RelativePath
    let first: RelativePath
    /// The SHA-256 of the file; nil if none is compared.
    let digest: Digest?

    var step: ExtractionStep {
      var order = ExtractionOrder(
        entry: ArchiveEntry(
          path: path, kind: .hardLink, linkTarget: PathBytes(first.bytes)),
        place: place)
      (order.linkPlace, order.digest) = (first, digest)
      return .member(order, [])
    }
  }

  /// - Parameters:
  ///   - globs: names and patterns as in ``MemberSelection``; empty means all. The folders in which the selected paths are
  ///     get their metadata too, if they are created.
  ///   - areNames: whether they are names only.
  ///   - strip: how many leading names of each path are dropped; a path with no more names is left out.
  ///
  /// The manifest determines which names belong to one file. Its content is read from the archive once, under the name that
  /// contains it there, and is written to the first selected name; the other names become links to that. Each file must have the
  /// SHA-256 in the manifest; other files are not created.
  /// - Throws: `malformed` for a manifest that is damaged.
  package static func prepare(
    _ snapshot: Snapshot, of set: BackupSet, globs: [PathBytes] = [], areNames: Bool = false, strip: Int = 0,
    options: ExtractionOptions, in context: SourceContext
  ) throws(BatchError) -> RestoreReader {
    let manifest = set.manifest(of: snapshot.name)
    try SnapshotReader.check(manifest, in: context)
    return try RestoreReader(
      snapshot, of: set, .manifest(manifest), globs: globs,
      selection: try MemberSelection(globs: globs, areNames: areNames).decided(
        byNamesIn: manifest, in: context),
      strip: strip, options: options, comparesDigests: true, in: context)
  }

  /// Reads only some rows of a manifest that was checked.
  ///
  /// - Parameter comparesDigests: whether a file is only created if it has the SHA-256 in its row.
  static func prepare(
    _ entries: [SnapshotEntry], of snapshot: Snapshot, in set: BackupSet, options: ExtractionOptions,
    comparesDigests: Bool, in context: SourceContext
  ) throws(BatchError) -> RestoreReader {
    try RestoreReader(
      snapshot, of: set, .entries(entries), globs: [], selection: MemberSelection(), strip: 0,
      options: options,
      comparesDigests: comparesDigests, in: context)
  }

  private init(
    _ snapshot: Snapshot, of set: BackupSet, _ rows: Rows, globs: [PathBytes], selection: MemberSelection,
    strip: Int, options: ExtractionOptions, comparesDigests: Bool, in context: SourceContext
  ) throws(BatchError) {
    self.options = options
    self.strip = strip
    self.selection = selection
    self.set = set
    self.rows = rows
    var matches = GlobMatches(globs)
    var names = NamesOfParts()
    var groups = LinkGroups()
    var links = [Link]()
    var joined: [(row: SnapshotEntry, place: RelativePath, digest: Digest?)] = []
    var linked: Set<RelativePath> = []
    var (outside, chosen) = (0, 0)
    var way = FoldersOnWay()
    try rows.forEach(in: context) { (entry) throws(BatchError) in
      guard let place = try? RelativePath(entry.path) else {
        outside += 1
        return
      }
      if !globs.isEmpty {
        way.enter(entry, at: place)
        let found = selection.matches(place, isDirectory: entry.kind == .directory)
        guard !found.isEmpty else {
          matches.look(at: place.bytes)
          return
        }
        matches.note(found.map(\.number))
        for folder in way.take(above: place) where folder.place.dropping(strip) != nil {
          names.insert(folderOnWay: folder.place.bytes, in: folder.archive)
        }
      }
      chosen += 1
      guard let shown = place.dropping(strip) else { return }
      let digest = comparesDigests ? entry.digest : nil
      do throws(BatchError) {
        func take() throws(BatchError) {
          guard entry.baseList != nil else { return try names.insert(entry, digest, as: place) }
          joined.append((entry, shown, digest))
        }
        guard LinkGroups.mayBelong(entry) || LinkGroups.mayBeNode(entry) else { return try take() }
        if let first = groups.first(of: entry) {
          // Rows of a source within another source occur twice.
          if first != entry.path, linked.insert(place).inserted {
            links.append(
              Link(
                path: PathBytes(place.bytes), place: shown,
                first: try RelativePath(first).dropping(strip) ?? shown, digest: digest))
          }
        } else {
          try take()
        }
      } catch {
        throw error.at(set.path(snapshot.name.manifest))
      }
    }
    self.links = links
    self.joined = joined
    isEncrypted = snapshot.name.isEncrypted
    self.outside = outside > 0 ? SnapshotReader.leadsOutside(outside, set.path(snapshot.name.manifest)) : nil
    stripped =
      chosen > 0 && names.isEmpty && links.isEmpty && joined.isEmpty
      ? BatchError(
        .invalid,
        "nothing is restored: no chosen path has more than the \(strip) leading names that are dropped",
        path: set.path(snapshot.name.manifest)) : nil
    doubtfulLinks = groups.doubtful
    unmatched = matches.unmatched
    parts =
      names.all.map { stamp, names in
        Part(
          archive: SnapshotName(set: set.name, stamp: stamp, isEncrypted: snapshot.name.isEncrypted),
          names: names)
      }
  }

  /// How many archives are read ahead at once.
  static let aheadCount = 8

  /// Patterns that no row matched.
  package let unmatched: [UnmatchedGlob]

  /// The error of rows that lead outside of the target, which are not restored.
  private let outside: BatchError?

  /// The error of dropping all names of each chosen path.
  private let stripped: BatchError?

  /// How many files may be further names of others; manifests of version 0.2.0 do not always store that.
  package let doubtfulLinks: Int

  package func read(in context: Context) throws(BatchError) {
    for error in [outside, stripped].compactMap({ $0 }) { try context.yield(.failed(error)) }
    for (number, part) in parts.enumerated() {
      if number.isMultiple(of: Self.aheadCount) {
        let ahead = parts[number...].prefix(2 * Self.aheadCount)
        set.readAhead(ahead.dropFirst(number == 0 ? 0 : Self.aheadCount).map(\.archive), in: context.source)
      }
      try read(part, in: context)
    }
    for (row, place, digest) in joined {
      try context.yield(.item(ExtractionItem(step: .joined(file(row, place, digest, in: context.source)))))
    }
    for link in links { try context.yield(link.step) }
  }

  private func file(
    _ row: SnapshotEntry, _ place: RelativePath, _ digest: Digest?, in context: SourceContext
  ) -> JoinedFile {
    var entry = ArchiveEntry(path: row.path, kind: .file)
    (entry.size, entry.mode, entry.modified) = (row.size, row.mode, row.modified)
    (entry.owner, entry.group) = (row.owner, row.group)
    (entry.ownerName, entry.groupName) = (row.userName?.bytes ?? [], row.groupName?.bytes ?? [])
    let parts = row.places.map { [set, isEncrypted] place in
      let name = SnapshotName(set: set.name, stamp: place.archive, isEncrypted: isEncrypted)
      return JoinedFile.Part(member: place.member) { () throws(BatchError) in
        do throws(BatchError) {
          return try set.archive(name, in: context)
        } catch {
          guard error.isNotFound || error.code == .missing else { throw error }
          throw BatchError(.malformed, "lost: \(name.archive), which has a part of it, is missing")
        }
      }
    }
    let archives = row.places.map {
      SnapshotName(set: set.name, stamp: $0.archive, isEncrypted: isEncrypted)
    }
    return JoinedFile(
      entry: entry, place: place, digest: digest, hasAttributes: row.attributes != nil, parts: parts
    ) { [set] in set.readAhead(archives[$0], in: context) }
  }

  private func read(_ part: Part, in context: Context) throws(BatchError) {
    var missing = part.names.count
    /// The members of an archive without a usable index that were reached.
    var reached = MemberNames()
    let path = set.path(part.archive.archive)
    do throws(BatchError) {
      let reader = try ExtractReader(
        set.archive(part.archive, in: context.source),
        selection: MemberSelection(names: part.names, strip: strip),
        globs: [],
        options: options, by: context.reading)
      try reader.read(in: context) { (step) throws(BatchError) in
        missing -= step.memberCount
        if options.keepsGoing {
          // The other archives are read all the same.
          if case .row(let row) = step, case .note(.stop) = row.row { return }
          if let name = step.streamedName { try reached.insert(name) }
        }
        try context.yield(step)
      }
    } catch {
      try context.checkCancellation()
      try context.yield(.failed(error.at(path)))
      if !options.keepsGoing { return }
    }
    guard missing > 0 else { return }
    if options.keepsGoing, missing == part.names.count - reached.count {
      return try nameLost(part, reached, in: context)
    }
    let text = "\(missing) members that the manifest has are not in the archive"
    try context.yield(.failed(BatchError(.malformed, text, path: path)))
  }

  /// Reports the selected files of an archive that were not reached, each by its name.
  private func nameLost(
    _ part: Part, _ reached: MemberNames, in context: Context
  ) throws(BatchError) {
    var reached = reached
    try rows.forEach(in: context.source) { (entry) throws(BatchError) in
      guard entry.archive == part.archive.stamp,
        let member = try? RelativePath(entry.contentName), part.names.contains(member.bytes),
        !reached.contains(member.bytes)
      else { return }
      try reached.insert(member.bytes)
      let place = part.names.place(of: member.bytes) ?? member
      try context.yield(
        .failed(
          BatchError(
            .malformed, "lost: it cannot be read from \(part.archive.archive)", path: PathBytes(place.bytes)))
      )
    }
  }
}

/// The names of the members that are read from each archive, in one or more parts.
private struct NamesOfParts {
  private var names: [String: [MemberNames]] = [:]

  var isEmpty: Bool { names.isEmpty }

  /// The parts with the stamps of their archives, in the order of these.
  var all: [(stamp: String, names: MemberNames)] {
    names.sorted { $0.key < $1.key }.flatMap { stamp, parts in parts.map { (stamp, $0) } }
  }

  /// Adds the member with the content of a row.
  ///
  /// - Throws: `malformed` for a member that no row can have.
  mutating func insert(
    _ entry: SnapshotEntry, _ digest: Digest?, as place: RelativePath
  ) throws(BatchError) {
    let member = try entry.contentName == entry.path ? place : RelativePath(entry.contentName)
    let metadata = MemberMetadata(entry)
    var parts = names.removeValue(forKey: entry.archive) ?? []
    defer { names[entry.archive] = parts }
    for index in parts.indices where try parts[index].insert(member.bytes, digest, as: place, metadata) {
      return
    }
    var part = MemberNames()
    try part.insert(member.bytes, digest, as: place, metadata)
    parts.append(part)
  }

  mutating func insert(folderOnWay name: [UInt8], in archive: String) {
    if names[archive]?.isEmpty ?? true { names[archive] = [MemberNames()] }
    names[archive]?[0].insert(folderOnWay: name)
  }
}

extension MemberMetadata {
  /// Nil for a row whose metadata are those of its member.
  fileprivate init?(_ entry: SnapshotEntry) {
    guard let user = entry.userName, let group = entry.groupName else { return nil }
    self.init(
      mode: entry.mode, owner: entry.owner, group: entry.group, ownerName: user.bytes,
      groupName: group.bytes, modified: entry.modified, hasAttributes: entry.attributes != nil)
  }
}

/// The folders above the current row of a manifest, in which each folder comes before its contents.
private struct FoldersOnWay {
  private var folders: [(place: RelativePath, archive: String)] = []
  /// How many of them were taken.
  private var takenCount = 0

  mutating func enter(_ entry: SnapshotEntry, at place: RelativePath) {
    while let last = folders.last, !Self.isFolder(last.place, above: place) { folders.removeLast() }
    takenCount = min(takenCount, folders.count)
    if entry.kind == .directory { folders.append((place, entry.archive)) }
  }

  /// The folders above the last row that were not returned before.
  mutating func take(above place: RelativePath) -> ArraySlice<(place: RelativePath, archive: String)> {
    let count = folders.last?.place == place ? folders.count - 1 : folders.count
    defer { takenCount = max(takenCount, count) }
    return folders[min(takenCount, count)..<count]
  }

  private static func isFolder(_ folder: RelativePath, above place: RelativePath) -> Bool {
    let count = folder.bytes.count
    return place.bytes.count > count && place.bytes[count] == UInt8(ascii: "/")
      && place.bytes.starts(with: folder.bytes)
  }
}

extension ExtractionStep {
  /// How many selected members it has.
  fileprivate var memberCount: Int {
    switch self {
    case .item(let item): if case .segment(let plan) = item.step { plan.choices.count } else { 1 }
    case .row(let row):
      switch row.row {
      case .begin, .belowRefused: 1
      default: 0
      }
    case .problem: 0
    }
  }

  /// The name of a member that was read without an index.
  fileprivate var streamedName: [UInt8]? {
    let order: ExtractionOrder
    switch self {
    case .item(let item):
      switch item.step {
      case .member(let member, _), .lost(let member, _): order = member
      case .segment, .joined: return nil
      }
    case .row(let row):
      guard case .begin(let large) = row.row else { return nil }
      order = large
    case .problem: return nil
    }
    return (try? RelativePath(order.entry.path))?.bytes
  }
}
