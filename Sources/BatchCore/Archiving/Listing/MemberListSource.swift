import BatchEngine

/// What a list of an archive is made from: its members, one after the other.
package struct MemberListSource: BatchSource {
  /// One step of the list.
  package enum Item: Sendable {
    case member(ListedMember)
    /// Those of an index that stand side by side.
    case members(IndexSlice)
    case problem(BatchError)
  }

  /// Members of one step, where they come from an index: a step costs more than a row.
  private static let sliceLength = 256

  private let archive: ArchiveFile
  private let planner: ExtractionPlanner
  /// Chosen members of an index that come before the next ones.
  private var chosen: ArraySlice<ListedMember> = []
  /// The index, which the list is made of, or which tells what headers do not.
  private var cursor: IndexCursor?
  private let reader: (any MemberReader)?
  private let digests: DigestStream?
  private let end: ArchiveEnd
  /// Nil where nobody asks which members are superseded.
  private var marks: SupersededMembers?
  private var isAtEnd = false
  /// Damage that is known before the first member.
  private var damage: BatchError?
  private var number = 0
  /// Members of the index from this one on, where the archive is read beside it.
  private var flagged = IndexSlice(numbers: 0..<0, pages: [], checks: nil)

  /// - Parameters:
  ///   - selection: which members are listed; `globs` are its patterns, for messages.
  ///   - details: whether more is asked for than an index holds: modes, owners, what links lead to.
  ///   - digests: whether the SHA-256 of contents is asked for.
  ///   - usesIndex: whether an index is believed; without it the members are those that any reader finds.
  ///   - memory: what the index may take, in bytes.
  ///   - marks: whether members that a later one supersedes are to be marked.
  ///   - end: told how the archive ended.
  /// - Throws: `malformed` when the file is no archive.
  package init(
    _ archive: ArchiveFile, selection: MemberSelection = .all, globs: [PathBytes] = [], details: Bool,
    digests: Bool, usesIndex: Bool = true,
    limits: ArchiveLimits = ArchiveLimits(), memory: Int = BatchOptions().memory, marks: Bool = false,
    end: ArchiveEnd
  ) throws(BatchError) {
    self.archive = archive
    planner = ExtractionPlanner(selection, globs: globs)
    self.end = end
    let open = try OpenArchive(archive, checks: digests && !details, memory: memory, by: .memberListSource)
    let index = usesIndex ? open.index?.index : nil
    if marks {
      self.marks =
        if let index {
          try SupersededMembers(index, archive.cancellation)
        } else {
          try SupersededMembers(open, decodes: false)
        }
    }
    cursor = index.map { IndexCursor($0) }
    let isListed = index != nil && !details
    if isListed || open.index == nil { end.note(remarks: open.remarks) }
    if isListed { damage = open.index?.damagedStart }
    reader = isListed ? nil : try open.reader(limits: limits)
    self.digests = digests && !isListed ? try DigestStream(.sha256) : nil
  }

  package mutating func next() throws(BatchError) -> Item? {
    while true {
      if let member = chosen.popFirst() { return .member(member) }
      let item = try nextItem()
      switch item {
      case .member(var member):
        member.mark = marks?.mark(member.path) ?? SupersededMembers.Mark.none
        if isChosen(member) { return .member(member) }
      case .members(var slice):
        if let marks { slice.marks = marks }
        guard !planner.takesEverything else { return .members(slice) }
        slice.forEach { if isChosen($0) { chosen.append($0) } }
      case .problem:
        marks?.skip()
        return item
      case nil:
        if !end.isCutShort { end.note(unmatched: planner.unmatched) }
        return nil
      }
    }
  }

  private func isChosen(_ member: ListedMember) -> Bool {
    planner.chooses(member.path, isDirectory: member.kind == .directory)
  }

  private mutating func nextItem() throws(BatchError) -> Item? {
    guard !isAtEnd else { return nil }
    if let damage {
      self.damage = nil
      end.cutShort()
      return .problem(damage)
    }
    guard let reader else { return try nextSlice().map { .members($0) } }
    do throws(BatchError) {
      try archive.cancellation.check()
      switch try reader.next() {
      case .unusable(let error):
        // Damage between members is no member of the index.
        guard error.path != nil else { return .problem(error.at(archive.path)) }
        if !flagged.numbers.isEmpty {
          flagged = flagged.dropFirst()
        } else {
          _ = try nextSlice().map { flagged = $0.dropFirst() }
        }
        return .problem(error)
      case .entry(let entry): return try item(of: entry, reader, flags: flags(of: entry))
      case nil:
        isAtEnd = true
        try reader.drain()
        end.note(remarks: reader.remarks)
        return nil
      }
    } catch {
      isAtEnd = true
      try archive.cancellation.check()
      end.cutShort()
      return .problem(error)
    }
  }

  /// The next members of the index; nil behind the last one.
  private mutating func nextSlice() throws(BatchError) -> IndexSlice? {
    guard let count = cursor?.index.count, number < count else { return nil }
    let end = min(number + Self.sliceLength, count)
    defer { number = end }
    return try cursor?.slice(number..<end)
  }

  /// What the index has of a member that the archive has, too.
  private mutating func flags(of entry: ArchiveEntry) throws(BatchError) -> MemberFlags {
    guard cursor != nil else { return [] }
    if flagged.numbers.isEmpty {
      guard let slice = try nextSlice() else { return try contradicted() }
      flagged = slice
    }
    let member = flagged[flagged.numbers.lowerBound]
    flagged = flagged.dropFirst()
    return member.agrees(with: entry) ? member.flags : try contradicted()
  }

  private mutating func contradicted() throws(BatchError) -> MemberFlags {
    cursor = nil
    end.note(remarks: ["the archive is not what its index says"])
    return []
  }

  private func item(
    of entry: ArchiveEntry, _ reader: any MemberReader, flags: MemberFlags
  ) throws(BatchError) -> Item {
    guard let digests, entry.kind == .file else { return .member(ListedMember(entry, flags: flags)) }
    digests.reset()
    let content = ContentDigest(digests, cancellation: archive.cancellation)
    do throws(BatchError) {
      try reader.readContent { (piece, offset) throws(BatchError) in try content.add(piece, at: offset) }
      return .member(ListedMember(entry, digest: try content.finish(size: entry.size), flags: flags))
    } catch {
      if error.code == .exhausted || error.code == .cancelled { throw error }
      return .problem(error.at(entry.path))
    }
  }

  package func weight(of item: Item) -> Int64 { 0 }

  package func count(of item: Item) -> Int {
    if case .members(let slice) = item { slice.numbers.count } else { 1 }
  }

  package func retained(by item: Item) -> Int64 {
    // The members, and the rows that are made of them.
    if case .members(let slice) = item { Int64(slice.memory) * 2 + 512 } else { 512 }
  }
}
