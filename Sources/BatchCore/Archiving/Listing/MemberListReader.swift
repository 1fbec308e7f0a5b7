import BatchEngine

/// Reads the members of an archive for a list, one after the other.
package struct MemberListReader: BatchReader {
  /// One step of the list.
  package enum Item: Sendable {
    case member(ListedMember)
    /// Consecutive members of an index.
    case members(IndexSlice)
    /// Rows of a manifest.
    case rows([ListedMember])
  }

  package typealias Row = Never

  /// Members of one step, if they come from an index or a manifest: a step costs more than a row.
  static let sliceLength = 256

  private let archive: OpenArchive
  private let planner: ExtractionPlanner
  /// The index from which members are listed, or from which details are taken that headers do not have.
  private let index: MemberIndex?
  private let reader: (any MemberReader)?
  private let digests: DigestStream?
  private let marksMembers: Bool
  package let end = SharedFindings()

  /// - Parameters:
  ///   - selection: which members are listed; `globs` are its patterns, for messages.
  ///   - details: whether details are requested that an index does not have: modes, owners, link targets.
  ///   - digests: whether the SHA-256 of contents is requested.
  ///   - usesIndex: whether an index is used; otherwise the members are those that any reader finds.
  ///   - memory: memory for the index, in bytes.
  ///   - marks: whether superseded members are marked.
  ///   - right: the right to read it.
  /// - Throws: `malformed` when the file is not an archive.
  package init(
    _ archive: ArchiveFile, selection: MemberSelection = .all, globs: [PathBytes] = [], details: Bool,
    digests: Bool, usesIndex: Bool = true,
    limits: ArchiveLimits = ArchiveLimits(), memory: Int = BatchOptions().memory, marks: Bool = false,
    by right: ReadingRight
  ) throws(BatchError) {
    marksMembers = marks
    let open = try OpenArchive(archive, checks: digests && !details, memory: memory, by: right)
    planner = ExtractionPlanner(
      try open.decided(selection, usesIndex: usesIndex, limits: limits), globs: globs)
    self.archive = open
    index = usesIndex ? open.index?.index : nil
    let isListed = index != nil && !details
    if isListed || open.index == nil { end.note { $0.remarks += open.remarks } }
    reader = isListed ? nil : try open.reader(limits: limits)
    self.digests = digests && !isListed ? try DigestStream(.sha256) : nil
  }

  package func read(in context: Context) throws(BatchError) {
    if let reader {
      do throws(BatchError) {
        try read(reader, in: context)
      } catch {
        try context.checkCancellation()
        end.cutShort()
        try context.yield(.problem(Problem(.unreadable, error)))
      }
    } else if let index {
      try readSlices(of: index, in: context)
    }
    for error in planner.wrongGuesses { try context.yield(.problem(Problem(.unreadable, error))) }
    end.note { if !$0.isCutShort { $0.unmatched = planner.unmatched } }
  }

  private func isChosen(_ member: ListedMember) -> Bool {
    planner.chooses(member.member.path, isDirectory: member.member.kind == .directory)
  }

  // MARK: Members of an index

  private func readSlices(of index: MemberIndex, in context: Context) throws(BatchError) {
    let marks = marksMembers ? try SupersededMembers(index, archive.file.cancellation) : nil
    if let damage = archive.index?.damagedStart {
      end.cutShort()
      try context.yield(.problem(Problem(.unreadable, damage)))
    }
    var cursor = IndexCursor(index)
    for start in stride(from: 0, to: index.count, by: Self.sliceLength) {
      var slice = try cursor.slice(start..<min(start + Self.sliceLength, index.count))
      if let marks { slice.marks = marks }
      guard !planner.takesEverything else {
        try context.yield(.item(.members(slice)))
        continue
      }
      try slice.forEach { (member) throws(BatchError) in
        if isChosen(member) { try context.yield(.item(.member(member))) }
      }
    }
  }

  // MARK: Members that are read

  private func read(
    _ reader: any MemberReader, in context: Context
  ) throws(BatchError) {
    var marks: SupersededMembers?
    if marksMembers {
      marks =
        if let index {
          try SupersededMembers(index, archive.file.cancellation)
        } else {
          try SupersededMembers(archive, decodes: false)
        }
    }
    var flags = index.map { RecordedFlags($0) }
    while let found = try reader.next() {
      try context.checkCancellation()
      switch found {
      case .unusable(let error):
        marks?.skip()
        // Damage between members has no entry in the index.
        if error.path != nil { try flags?.skip() }
        if error.code == .malformed { end.cutShort() }
        try context.yield(
          .problem(Problem(.unreadable, error.path == nil ? error.at(archive.file.path) : error)))
      case .entry(var entry):
        var recorded = MemberFlags()
        if flags != nil {
          if let found = try flags?.next(entry) {
            recorded = found
          } else {
            flags = nil
            end.note { $0.remarks.append("the archive is not what its index says") }
          }
        }
        do throws(BatchError) {
          let digest = try digest(of: &entry, reader, in: context)
          var member = ListedMember(entry, digest: digest, flags: recorded)
          member.mark = marks?.mark(entry.path) ?? .none
          if isChosen(member) { try context.yield(.item(.member(member))) }
        } catch {
          try context.checkCancellation()
          if error.code == .exhausted || error.code == .cancelled { throw error }
          marks?.skip()
          try context.yield(.problem(Problem(.unreadable, error.at(entry.path))))
        }
      }
    }
    try reader.drain()
    for damage in reader.damages(archive.file.path, hasContents: digests != nil) {
      end.cutShort()
      try context.yield(.problem(Problem(.unreadable, damage)))
    }
    end.note { $0.remarks += reader.harmlessRemarks }
  }

  /// - Parameter entry: receives its size if the size follows the content.
  /// - Returns: nil if it is not requested.
  private func digest(
    of entry: inout ArchiveEntry, _ reader: any MemberReader, in context: Context
  ) throws(BatchError) -> Digest? {
    guard entry.hasOwnContent, digests != nil || !entry.hasSize else { return nil }
    let content = digests.map { ContentDigest($0, cancellation: archive.file.cancellation) }
    let end: UInt64
    do throws(BatchError) {
      end = try reader.readContent(into: content) { _ throws(BatchError) in try context.checkCancellation() }
    } catch {
      // An encrypted member is still listed.
      guard error.code == .unsupported, digests == nil else { throw error }
      return nil
    }
    if !entry.hasSize { (entry.size, entry.hasSize) = (end, true) }
    return try content?.finish(size: entry.size)
  }
}

/// The flags in an index, for the members of an archive that is read as well.
private struct RecordedFlags {
  private var cursor: IndexCursor
  /// The next members of the index.
  private var rest = IndexSlice(numbers: 0..<0, pages: [], checks: nil)

  init(_ index: MemberIndex) {
    cursor = IndexCursor(index)
  }

  /// - Returns: nil if the index has another member at this position.
  mutating func next(_ entry: ArchiveEntry) throws(BatchError) -> MemberFlags? {
    guard let member = try next(), member.agrees(with: entry) else { return nil }
    return member.flags
  }

  mutating func skip() throws(BatchError) { _ = try next() }

  private mutating func next() throws(BatchError) -> ArchivedMember? {
    let number = rest.numbers.lowerBound
    if rest.numbers.isEmpty {
      guard number < cursor.index.count else { return nil }
      rest = try cursor.slice(number..<min(number + MemberListReader.sliceLength, cursor.index.count))
    }
    defer { rest = rest.dropFirst() }
    return rest[number]
  }
}

extension MemberListReader.Item: MeasuredItem {
  package var measure: ItemMeasure {
    switch self {
    // The memory of the members and of their rows.
    case .members(let slice):
      ItemMeasure(weight: 0, count: slice.numbers.count, retained: Int64(slice.memory) * 2 + 512)
    case .member: ItemMeasure(weight: 0, retained: 512)
    case .rows(let rows): ItemMeasure(weight: 0, count: rows.count, retained: Int64(rows.count) * 512)
    }
  }
}

/// Renders the members of an archive.
package struct MemberListJob: RowJob {
  package typealias Item = MemberListReader.Item

  private let render: @Sendable (ListedMember, inout [UInt8]) -> Void
  package let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - render: appends the row of a member; called on many threads at once.
  ///   - output: takes rows; one call at a time, in the order of the archive.
  package init(
    render: @escaping @Sendable (ListedMember, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Item, ResultRows> {
    FunctionWorker { (item, context, rows) in
      switch item {
      case .member(let member): append(member, context, &rows)
      case .members(let slice): slice.forEach { append($0, context, &rows) }
      case .rows(let members): for member in members { append(member, context, &rows) }
      }
    }
  }

  private func append(_ member: ListedMember, _ context: WorkerContext, _ rows: inout ResultRows) {
    rows.append { render(member, &$0) }
    context.finish()
  }
}
