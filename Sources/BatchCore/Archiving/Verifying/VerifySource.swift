import BatchEngine

/// What a verification goes over: the segments of an archive that has an index, else its members in turn.
///
/// An archive without an index is read here, member by member, since it can be decoded from its beginning only.
package struct VerifySource: BatchSource {
  /// One step of a verification.
  package struct Item: Sendable {
    enum Step: Sendable {
      case segment(IndexedArchive, MemberIndex.Group, IndexSlice)
      /// The same of an archive that was just written, with the index that was made in memory, and what its frames decode to.
      case written(IndexedArchive, MemberIndex.Group, IndexSlice, contents: [Digest])
      /// What lies between the members and the index.
      case end(IndexedArchive)
      /// A member whose content was read to its end, so many bytes.
      case read(PathBytes, size: Int)
      case unreadable(PathBytes?, BatchError)
      /// What no checksum vouches for in an archive that was just written.
      case stretch(ArchiveFile, WrittenArchive.Stretch)
      /// A member whose content was read, to be compared with the folder.
      case compare(RecordedPath)
      /// Something in the folder that the archive has not.
      case new(PathBytes)
      case problem(Problem)
      /// Something that is known of the archive itself.
      case note(Verification.Note)
    }

    let step: Step
    /// What is to be said of other members of its name.
    var mark = SupersededMembers.Mark.none
  }

  private enum Way {
    case segments(IndexCursor, IndexedArchive, ArraySlice<MemberIndex.Group>)
    case members(any MemberReader)
    case written(WrittenMembers)
  }

  private let archive: ArchiveFile
  private var way: Way
  private let live: LiveTree?
  /// What is reported before the next step.
  private var notes: ArraySlice<Verification.Note> = []
  private var places = RecordedPlaces()
  private let digests: DigestStream?
  private var stretch: WrittenArchive.Stretch?
  /// What each frame of an archive that was just written decodes to.
  private let contents: [Digest?]
  private var newPaths: NewPaths?
  private var marks = SupersededMembers()
  private var isAtEnd = false

  /// - Parameters:
  ///   - live: a folder to compare the members with.
  ///   - memory: what the index of the archive may take, in bytes.
  ///   - marks: whether members that a later one supersedes are to be marked, and not only counted.
  /// - Throws: `malformed` when the file is no archive.
  package init(
    _ archive: ArchiveFile, live: LiveTree? = nil, memory: Int = BatchOptions().memory, marks: Bool = false
  ) throws(BatchError) {
    self.archive = archive
    self.live = live
    contents = []
    digests = live == nil ? nil : try DigestStream(.sha256)
    let open = try OpenArchive(archive, checks: true, memory: memory, by: .verifySource)
    if let indexed = open.index {
      way = .segments(IndexCursor(indexed.index), indexed, indexed.index.groups[...])
      self.marks = try SupersededMembers(indexed.index, archive.cancellation)
      notes += Verification.Note.beginning(indexed) + open.remarks.map { .damage($0) }
      if let damage = indexed.damagedStart { notes.append(.damage(damage.message)) }
      if let fact = self.marks.fact { notes.append(.fact(fact)) }
      return
    }
    if let error = open.unusedIndex {
      notes.append(error.code == .malformed ? .damage(error.message) : .fact(error.message))
    }
    let reader = try open.reader(limits: ArchiveLimits())
    way = .members(reader)
    if let fact = reader.compressionFact { notes.append(.fact(fact)) }
    if marks || live != nil {
      self.marks = try SupersededMembers(open, decodes: live != nil)
    }
  }

  /// What was just written, to be compared with what it was made of.
  ///
  /// - Throws: `malformed` when the file is no archive.
  package init(
    _ archive: ArchiveFile, madeOf written: WrittenArchive
  ) throws(BatchError) {
    self.archive = archive
    live = nil
    contents = written.contents
    digests = nil
    stretch = written.stretch
    if archive.size != written.stretch.bytes.upperBound {
      notes.append(
        .damage("it has \(archive.size ?? 0) bytes in the place of \(written.stretch.bytes.upperBound)"))
    }
    guard written.format.container == .tar else {
      way = .written(try WrittenMembers(archive, written))
      return
    }
    let indexed = IndexedArchive(
      file: archive, format: written.format.compression, index: written.index)
    way = .segments(IndexCursor(indexed.index), indexed, indexed.index.groups[...])
    notes += Verification.Note.beginning(indexed)
  }

  /// What there is to verify, where an index tells.
  package var total: (members: Int, bytes: UInt64)? {
    if case .segments(_, let indexed, _) = way { indexed.index.total } else { nil }
  }

  package mutating func next() throws(BatchError) -> Item? {
    if let note = notes.popFirst() { return Item(step: .note(note)) }
    if isAtEnd { return try nextBehindMembers() }
    do throws(BatchError) {
      try archive.cancellation.check()
      switch way {
      case .segments(var cursor, let indexed, var groups):
        if let group = groups.popFirst() {
          var members = try cursor.slice(group.members)
          members.marks = marks
          way = .segments(cursor, indexed, groups)
          if live != nil { add(members) }
          let contents = contents.isEmpty ? [] : contents[group.frames].compactMap { $0 }
          guard contents.count == group.frames.count else {
            return Item(step: .segment(indexed, group, members))
          }
          return Item(step: .written(indexed, group, members, contents: contents))
        }
        isAtEnd = true
        newPaths = live.map { NewPaths($0, places) }
        return Item(step: .end(indexed))
      case .members(let reader):
        if let item = try next(of: reader) { return item }
        isAtEnd = true
        newPaths = live.map { NewPaths($0, places) }
        return try next()
      case .written(let members):
        if let item = try members.next() { return item }
        isAtEnd = true
        return nil
      }
    } catch {
      isAtEnd = true
      try archive.cancellation.check()
      if live != nil {
        notes.append(.fact("what is new cannot be told: the archive was not read to its end"))
      }
      return Item(step: .unreadable(nil, error))
    }
  }

  private mutating func nextBehindMembers() throws(BatchError) -> Item? {
    try archive.cancellation.check()
    if let stretch {
      self.stretch = nil
      return Item(step: .stretch(archive, stretch))
    }
    switch newPaths?.next() {
    case .new(let path, _): return Item(step: .new(path))
    case .problem(let problem): return Item(step: .problem(problem))
    case nil: return nil
    }
  }

  private mutating func add(_ members: IndexSlice) {
    for number in members.numbers {
      let member = members[number]
      places.add(member.path, isDirectory: member.kind == .directory)
    }
  }

  private mutating func next(of reader: any MemberReader) throws(BatchError) -> Item? {
    switch try reader.next() {
    case nil:
      try reader.drain()
      notes += Verification.Note.end(of: reader)
      if let fact = marks.fact { notes.append(.fact(fact)) }
      return nil
    case .unusable(let error):
      marks.skip()
      guard error.path != nil || error.code != .malformed else {
        return Item(step: .note(.damage(error.message)))
      }
      if live != nil, let path = error.path { places.add(path, isDirectory: false) }
      return Item(step: .unreadable(error.path, error))
    case .entry(let entry):
      if live != nil { places.add(entry.path, isDirectory: entry.kind == .directory) }
      let mark = marks.mark(entry.path)
      do throws(BatchError) {
        if live != nil, mark != .superseded {
          return Item(step: .compare(try compared(entry, reader)), mark: mark)
        }
        var size = 0
        try reader.readContent { (piece, _) in size += piece.count }
        return Item(step: .read(entry.path, size: size), mark: mark)
      } catch {
        try archive.cancellation.check()
        return Item(step: .unreadable(entry.path, error.at(entry.path)), mark: mark)
      }
    }
  }

  private func compared(
    _ entry: ArchiveEntry, _ reader: any MemberReader
  ) throws(BatchError) -> RecordedPath {
    var entry = entry
    var digest: Digest?
    if let digests, entry.kind == .file {
      let content = ContentDigest(digests, cancellation: archive.cancellation)
      var end: UInt64 = 0
      try reader.readContent { (piece, offset) throws(BatchError) in
        try content.add(piece, at: offset)
        end = offset + UInt64(piece.count)
      }
      // Streams of zip tell the size behind the content.
      entry.size = max(entry.size, end)
      digest = try content.finish(size: entry.size)
    }
    return RecordedPath(entry, digest, hasOwner: reader.tellsOwner(of: entry))
  }

  package func weight(of item: Item) -> Int64 {
    switch item.step {
    case .segment(let indexed, let group, _), .written(let indexed, let group, _, _):
      indexed.index.weight(of: group)
    case .compare(let member): Int64(clamping: member.size ?? 0)
    case .end, .stretch, .read, .unreadable, .new, .problem, .note: 0
    }
  }

  package func count(of item: Item) -> Int {
    switch item.step {
    case .segment(_, let group, _), .written(_, let group, _, _): group.members.count
    case .end, .stretch, .new, .unreadable(nil, _), .note: 0
    case .read, .unreadable, .compare, .problem: 1
    }
  }

  package func retained(by item: Item) -> Int64 {
    switch item.step {
    case .segment(_, _, let members), .written(_, _, let members, _): Int64(members.memory) + 512
    default: 512
    }
  }
}

extension VerifySource.Item: FileItem {
  package var path: PathBytes? {
    switch step {
    case .segment(let archive, _, _), .written(let archive, _, _, _), .end(let archive): archive.file.path
    case .stretch(let file, _): file.path
    case .compare(let member): member.path
    case .read, .unreadable, .new, .problem, .note: nil
    }
  }
}
