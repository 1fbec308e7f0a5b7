import BatchEngine

/// Yields the items of a verification: segments, if the archive has an index; otherwise its members, which are read here,
/// because such an archive can only be decoded from its beginning.
package struct VerifyReader: BatchReader {
  /// One step of a verification.
  package struct Item: Sendable {
    enum Step: Sendable {
      /// For an archive that was just written with the digests of the decoded frames.
      case segment(IndexedArchive, MemberIndex.Group, IndexSlice, contents: [Digest]?)
      /// The bytes between the members and the index.
      case end(IndexedArchive)
      /// A member whose content was read to its end.
      case read(PathBytes)
      case unreadable(PathBytes?, BatchError)
      /// Bytes of an archive that was just written that no checksum covers.
      case stretch(ArchiveFile, WrittenArchive.Stretch)
      /// A member whose content was read, for the comparison with the folder.
      case compare(RecordedPath)
    }

    let step: Step
    /// Whether other members have its name.
    var mark = SupersededMembers.Mark.none
  }

  /// Notes, and paths in the folder that the archive does not contain.
  package typealias Row = VerifyJob.Row

  private enum Way {
    case segments(IndexedArchive)
    case members(any MemberReader, OpenArchive)
    case written(WrittenMembers)
  }

  private let archive: ArchiveFile
  private let way: Way
  private let live: LiveTree?
  /// Notes that are known before members are read.
  private var notes: [Verification.Note] = []
  private let digests: DigestStream?
  private let marksMembers: Bool
  private let share: ReadShare?
  /// Nil for an archive that this run has not written.
  private let written: WrittenArchive?

  /// - Parameters:
  ///   - live: a folder to compare the members with.
  ///   - memory: memory for the index of the archive, in bytes.
  ///   - marks: whether superseded members are marked, not only counted.
  ///   - share: the segments that are read; nil for all. An archive without an index is read as a whole.
  /// - Throws: `malformed` when the file is not an archive.
  package init(
    _ archive: ArchiveFile, live: LiveTree? = nil, memory: Int = BatchOptions().memory, marks: Bool = false,
    share: ReadShare? = nil, by right: ReadingRight
  ) throws(BatchError) {
    self.archive = archive
    self.live = live
    self.share = share
    written = nil
    marksMembers = marks || live != nil
    digests = live == nil ? nil : try DigestStream(.sha256)
    let open = try OpenArchive(archive, checks: true, memory: memory, by: right)
    if let indexed = open.index {
      way = .segments(indexed)
      notes = Verification.Note.beginning(indexed) + open.remarks.map { .damage($0) }
      if let damage = indexed.damagedStart { notes.append(.damage(damage.message)) }
      return
    }
    if let error = open.unusedIndex {
      notes.append(error.code == .malformed ? .damage(error.message) : .fact(error.message))
    }
    let reader = try open.reader(limits: ArchiveLimits())
    way = .members(reader, open)
    if let fact = reader.compressionFact { notes.append(.fact(fact)) }
  }

  /// Verifies an archive that was just written, against the data from which it was made.
  ///
  /// - Throws: `malformed` when the file is not an archive.
  package init(
    _ archive: ArchiveFile, madeOf written: WrittenArchive, by right: ReadingRight
  ) throws(BatchError) {
    self.archive = archive
    self.written = written
    share = nil
    live = nil
    marksMembers = false
    digests = nil
    if archive.size != written.stretch.bytes.upperBound {
      notes.append(
        .damage("it has \(archive.size ?? 0) bytes instead of \(written.stretch.bytes.upperBound)"))
    }
    guard written.format.container == .tar else {
      way = .written(try WrittenMembers(archive, written, by: right))
      return
    }
    let indexed = IndexedArchive(
      file: archive, format: written.format.compression, index: written.index)
    way = .segments(indexed)
    notes += Verification.Note.beginning(indexed)
  }

  /// The members and bytes to verify; nil without an index.
  package var total: (members: Int, bytes: UInt64)? {
    if case .segments(let indexed) = way { indexed.index.total } else { nil }
  }

  package func read(in context: Context) throws(BatchError) {
    var places = RecordedPlaces()
    do throws(BatchError) {
      try yield(notes, in: context)
      switch way {
      case .segments(let indexed): try readSegments(of: indexed, &places, in: context)
      case .members(let reader, let open): try read(reader, of: open, &places, in: context)
      case .written(let members): try members.read(in: context)
      }
      if let live { try yieldNew(NewPaths(live, places), in: context) }
    } catch {
      try context.checkCancellation()
      // Too little memory is no damage.
      if error.code == .exhausted { throw error }
      try context.yield(.item(Item(step: .unreadable(nil, error))))
      if live != nil {
        try yield([.fact("new paths cannot be determined: the archive was not read to its end")], in: context)
      }
    }
    if let stretch = written?.stretch { try context.yield(.item(Item(step: .stretch(archive, stretch)))) }
  }

  private func yield(_ notes: [Verification.Note], in context: Context) throws(BatchError) {
    for note in notes { try context.yield(.row(.note(note))) }
  }

  private func yieldNew(_ paths: NewPaths, in context: Context) throws(BatchError) {
    var paths = paths
    while let found = paths.next() {
      switch found {
      case .item((let path, _)):
        let finding = VerifyJob.Finding(path: path, damage: nil, difference: Difference(.new))
        try context.yield(.row(.finding(finding)))
      case .problem(let problem): try context.yield(.problem(problem))
      }
    }
  }

  // MARK: Members of an index

  private func readSegments(
    of indexed: IndexedArchive, _ places: inout RecordedPlaces, in context: Context
  ) throws(BatchError) {
    var marks = SupersededMembers()
    if written == nil {
      marks = try SupersededMembers(indexed.index, archive.cancellation)
      if let fact = marks.fact { try yield([.fact(fact)], in: context) }
    }
    var cursor = IndexCursor(indexed.index)
    for (number, group) in indexed.index.groups.enumerated() {
      if let share, !share.takes(number) { continue }
      var members = try cursor.slice(group.members)
      members.marks = marks
      if live != nil {
        for number in members.numbers {
          let member = members[number]
          places.add(member.path, isDirectory: member.kind == .directory)
        }
      }
      let contents = written?.contents[group.frames].compactMap { $0 } ?? []
      try context.yield(
        .item(
          Item(
            step: .segment(
              indexed, group, members, contents: contents.count == group.frames.count ? contents : nil))))
    }
    try context.yield(.item(Item(step: .end(indexed))))
  }

  // MARK: Members that are read

  private func read(
    _ reader: any MemberReader, of open: OpenArchive, _ places: inout RecordedPlaces,
    in context: Context
  ) throws(BatchError) {
    var marks =
      marksMembers ? try SupersededMembers(open, decodes: live != nil) : SupersededMembers()
    while let member = try reader.next() {
      switch member {
      case .unusable(let error):
        marks.skip()
        guard error.path != nil || error.code != .malformed else {
          try yield([.damage(error.message)], in: context)
          continue
        }
        if live != nil, let path = error.path { places.add(path, isDirectory: false) }
        try context.yield(.item(Item(step: .unreadable(error.path, error))))
      case .entry(let entry):
        if live != nil { places.add(entry.path, isDirectory: entry.kind == .directory) }
        let mark = marks.mark(entry.path)
        let step: Item.Step
        do throws(BatchError) {
          step =
            live != nil && mark != .superseded
            ? .compare(try compared(entry, reader, in: context))
            : try readContent(of: entry, reader, in: context)
        } catch {
          try context.checkCancellation()
          if error.code == .exhausted { throw error }
          step = .unreadable(entry.path, error.at(entry.path))
        }
        try context.yield(.item(Item(step: step, mark: mark)))
      }
    }
    try reader.drain()
    try yield(Verification.Note.end(of: reader), in: context)
    if let fact = marks.fact { try yield([.fact(fact)], in: context) }
  }

  private func readContent(
    of entry: ArchiveEntry, _ reader: any MemberReader, in context: Context
  ) throws(BatchError) -> Item.Step {
    var count = 0
    do throws(BatchError) {
      let end = try reader.readContent(into: nil) { (bytes) throws(BatchError) in
        try context.checkCancellation()
        context.count(bytes: bytes)
        count += bytes
      }
      let hasContent = entry.kind == .file || (entry.kind == .hardLink && entry.size > 0)
      if hasContent, entry.hasSize { try entry.checkSize(end: end) }
    } catch {
      context.count(bytes: -count)
      throw error
    }
    return .read(entry.path)
  }

  private func compared(
    _ entry: ArchiveEntry, _ reader: any MemberReader, in context: Context
  ) throws(BatchError) -> RecordedPath {
    var entry = entry
    var digest: Digest?
    if let digests, entry.hasOwnContent {
      let content = ContentDigest(digests, cancellation: archive.cancellation)
      let end = try reader.readContent(into: content) { (count) throws(BatchError) in
        try context.checkCancellation()
        context.count(bytes: count)
      }
      // Streamed zip stores the size after the content.
      if entry.hasSize { try entry.checkSize(end: end) } else { entry.size = end }
      digest = try content.finish(size: entry.size)
    }
    return RecordedPath(entry, digest, hasOwner: reader.tellsOwner(of: entry))
  }
}

extension VerifyReader.Item: MeasuredItem {
  package var measure: ItemMeasure {
    switch step {
    case .segment(let indexed, let group, let members, _):
      ItemMeasure(
        weight: indexed.index.weight(of: group), count: group.members.count,
        retained: Int64(members.memory) + Self.ownSize)
    case .compare(let member): ItemMeasure(weight: Int64(clamping: member.size ?? 0), retained: Self.ownSize)
    case .read, .unreadable(.some, _): ItemMeasure(weight: 0, retained: Self.ownSize)
    case .end, .stretch, .unreadable(nil, _):
      ItemMeasure(weight: 0, count: 0, retained: Self.ownSize)
    }
  }

  private static let ownSize: Int64 = 512
}

extension VerifyJob.Row: MeasuredItem {
  package var measure: ItemMeasure { ItemMeasure(weight: 0, count: 0, retained: 512) }
}

extension VerifyReader.Item: FileItem {
  package var path: PathBytes? {
    switch step {
    case .segment(let archive, _, _, _), .end(let archive): archive.file.path
    case .stretch(let file, _): file.path
    case .compare(let member): member.path
    case .read, .unreadable: nil
    }
  }
}
