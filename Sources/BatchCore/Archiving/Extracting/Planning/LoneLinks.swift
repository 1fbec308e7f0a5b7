import BatchEngine

/// Hard links that were selected without the file that they link to, and the members with their contents.
///
/// They are held back until all other members were read. Then the archive is read again for their contents.
struct LoneLinks {
  private struct Link {
    let entry: ArchiveEntry
    let number: Int
    /// The number of the last file of its target's name before the link.
    var file: Int?
  }

  /// In the order of the archive; nil for one that was superseded.
  private var all: [Link?] = []
  /// Their places in this order, by name and by the name of their target.
  private var places: [PathBytes: Int] = [:]
  private var targets: [[UInt8]: [Int]] = [:]

  private var links: [Link] { all.compactMap { $0 } }
  var isEmpty: Bool { places.isEmpty }
  /// The numbers of the links among the members.
  var numbers: Set<Int> { Set(links.map(\.number)) }
  /// The links by the number of their file.
  var files: [Int: [ArchiveEntry]] {
    var files: [Int: [ArchiveEntry]] = [:]
    for link in links { if let file = link.file { files[file, default: []].append(link.entry) } }
    return files
  }
  /// The links whose file is not in the archive.
  var missing: [ArchiveEntry] { links.filter { $0.file == nil }.map(\.entry) }

  /// Takes the next selected member, which supersedes a link of its name.
  ///
  /// - Returns: whether it is a link that is held back.
  mutating func hold(_ entry: ArchiveEntry, number: Int, _ planner: ExtractionPlanner) -> Bool {
    drop(entry.path)
    guard Self.isLink(entry), let target = entry.linkTarget, !planner.chooses(target, isDirectory: false)
    else { return false }
    places[entry.path] = all.count
    targets[Self.name(target), default: []].append(all.count)
    all.append(Link(entry: entry, number: number))
    return true
  }

  /// Whether a member is a hard link without content of its own.
  static func isLink(_ entry: ArchiveEntry) -> Bool {
    entry.kind == .hardLink && entry.size == 0 && !entry.sharesContent
  }

  /// Takes note of a selected member of an index, which supersedes a link of its name.
  mutating func drop(_ path: PathBytes) {
    if !isEmpty, let place = places.removeValue(forKey: path) { all[place] = nil }
  }

  /// Looks whether a member is the file of a link.
  fileprivate mutating func look(at path: PathBytes, _ kind: ArchiveEntry.Kind, number: Int) {
    for place in targets[Self.name(path)] ?? [] {
      if let link = all[place], number < link.number { all[place]?.file = kind == .file ? number : nil }
    }
  }

  private static func name(_ path: PathBytes) -> [UInt8] { (try? RelativePath(path))?.bytes ?? path.bytes }
}

extension OpenArchive {
  /// Whether the archive can be read a second time.
  var isReadableAgain: Bool { file.size != nil }

  /// The selected links of an index, which does not contain what they link to.
  func loneLinks(
    of indexed: IndexedArchive, _ planner: ExtractionPlanner, limits: ArchiveLimits
  ) throws(BatchError) -> LoneLinks {
    var lone = LoneLinks()
    guard !planner.takesEverything, planner.selection.names == nil else { return lone }
    var cursor = IndexCursor(indexed.index)
    var segment = SegmentReader(archive: indexed, loader: try FrameLoader(file, indexed.format, by: right))
    for group in indexed.index.groups {
      try file.cancellation.check()
      let members = try cursor.slice(group.members)
      let hasLinks = group.members.contains { number in
        let member = members[number]
        return member.kind == .hardLink && planner.chooses(member.path, isDirectory: false)
      }
      guard hasLinks else {
        for number in group.members where !lone.isEmpty { lone.drop(members[number].path) }
        continue
      }
      do throws(BatchError) {
        try segment.read(group, members, limits: limits) { (number, _, entry, _) throws(BatchError) in
          if planner.chooses(entry.path, isDirectory: entry.kind == .directory) {
            _ = lone.hold(entry, number: number, planner)
          }
        }
      } catch {
        // The following read reports the damage.
        guard error.code == .malformed else { throw error }
      }
    }
    return lone
  }

  /// Reads the files of links.
  ///
  /// - Parameter visit: called with each file, a reader positioned before its content, and the links to it.
  /// - Returns: the links whose file is not in the archive.
  func readFiles(
    of lone: LoneLinks, limits: ArchiveLimits,
    visit: (ArchiveEntry, any MemberReader, [ArchiveEntry]) throws(BatchError) -> Void
  ) throws(BatchError) -> [ArchiveEntry] {
    guard !lone.isEmpty else { return [] }
    var lone = lone
    guard let index else {
      try forEachMember(limits) { (number, entry, _) in lone.look(at: entry.path, entry.kind, number: number)
      }
      let files = lone.files
      try forEachMember(limits) { (number, entry, reader) throws(BatchError) in
        if let links = files[number] { try visit(entry, reader, links) }
      }
      return lone.missing
    }
    try index.index.forEachMember(file.cancellation) { number, member in
      lone.look(at: member.path, member.kind, number: number)
    }
    let files = lone.files
    var cursor = IndexCursor(index.index)
    var segment = SegmentReader(archive: index, loader: try FrameLoader(file, index.format, by: right))
    for group in index.index.groups where group.members.contains(where: { files[$0] != nil }) {
      try segment.read(group, try cursor.slice(group.members), limits: limits) {
        (number, _, entry, reader) throws(BatchError) in
        if let links = files[number] { try visit(entry, reader, links) }
      }
    }
    return lone.missing
  }

  private func forEachMember(
    _ limits: ArchiveLimits, _ body: (Int, ArchiveEntry, any MemberReader) throws(BatchError) -> Void
  ) throws(BatchError) {
    let reader = try reader(limits: limits)
    var number = 0
    while let member = try reader.next() {
      try file.cancellation.check()
      if case .entry(let entry) = member { try body(number, entry, reader) }
      number += 1
    }
  }
}
