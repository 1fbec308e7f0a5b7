import BatchEngine

/// Reads the contents of members, in the order of the archive, for an output that writes one after the other.
package struct PrintReader: BatchReader {
  /// The contents are decoded here, so no worker processes them.
  package typealias Item = Never

  /// One step of the output.
  package enum Row: Sendable {
    case content([UInt8])
    /// The content of the current file is complete.
    case end
    /// A member that cannot be written, which is a failure whatever the policy is.
    case failed(BatchError)
  }

  private static let zeros = [UInt8](repeating: 0, count: 256 << 10)

  private let archive: ArchiveFile
  private let selection: MemberSelection
  private let globs: [PathBytes]
  private let limits: ArchiveLimits
  private let memory: Int
  package let end = SharedFindings()

  /// - Parameters:
  ///   - selection: which members are written; `globs` are its patterns, for messages.
  ///   - memory: memory for the index of the archive, in bytes.
  package init(
    _ archive: ArchiveFile, selection: MemberSelection, globs: [PathBytes], limits: ArchiveLimits,
    memory: Int = BatchOptions().memory
  ) {
    self.archive = archive
    self.limits = limits
    self.memory = memory
    self.selection = selection
    self.globs = globs
  }

  package func read(in context: Context) throws(BatchError) {
    var isArchive = false
    var planner = ExtractionPlanner(selection, globs: globs)
    do throws(BatchError) {
      let open = try OpenArchive(archive, checks: false, memory: memory, by: context.reading)
      planner = ExtractionPlanner(try open.decided(selection, limits: limits), globs: globs)
      if let indexed = open.index {
        isArchive = true
        try readSegments(of: indexed, planner, in: context)
        try read(try open.loneLinks(of: indexed, planner, limits: limits), of: open, in: context)
      } else {
        let reader = try open.reader(limits: limits)
        isArchive = true
        try readMembers(reader, of: open, planner, in: context)
      }
      for error in planner.wrongGuesses { try context.yield(.row(.failed(error))) }
    } catch {
      try context.checkCancellation()
      end.cutShort()
      if isArchive, error.code == .malformed { end.note { $0.isDamaged = true } }
      try context.yield(.row(.failed(error)))
    }
    end.note { $0.unmatched = planner.unmatched }
  }

  private func readSegments(
    of indexed: IndexedArchive, _ planner: ExtractionPlanner, in context: Context
  ) throws(BatchError) {
    var plans = try SegmentPlanner(indexed, planner: planner, limits: limits, claims: false)
    var segment = SegmentReader(
      archive: indexed, loader: try FrameLoader(indexed.file, indexed.format, by: context.reading))
    while let plan = try plans.next() {
      var choices = plan.choices[...]
      try segment.read(plan.group, plan.members, limits: limits) {
        (number, _, entry, reader) throws(BatchError) in
        guard choices.first?.number == number else { return }
        choices = choices.dropFirst()
        if entry.kind == .file { try read(entry, reader, in: context) }
      }
    }
  }

  private func readMembers(
    _ reader: any MemberReader, of open: OpenArchive, _ planner: ExtractionPlanner, in context: Context
  ) throws(BatchError) {
    var late = LateContents()
    var lone = LoneLinks()
    var number = -1
    while let member = try reader.next() {
      try context.checkCancellation()
      number += 1
      switch member {
      case .unusable(let error):
        try context.yield(.row(.failed(error.path == nil ? error.at(archive.path) : error)))
        if error.code == .malformed { end.cutShort() }
      case .entry(let entry):
        let isChosen = planner.chooses(entry.path, isDirectory: entry.kind == .directory)
        if isChosen, lone.hold(entry, number: number, planner) {
          if !open.isReadableAgain { try fail(entry, in: context) }
          continue
        }
        // The content of a file with several names is written once.
        guard late.entries(for: entry, isChosen: isChosen).contains(where: { $0.kind == .file }) else {
          continue
        }
        do throws(BatchError) {
          try read(entry, reader, in: context)
        } catch {
          guard error.code == .unsupported else { throw error }
          try context.yield(.row(.failed(error.at(entry.path))))
        }
      }
    }
    for entry in late.takeAll() {
      if entry.kind == .file { try context.yield(.row(.end)) } else { try fail(entry, in: context) }
    }
    if open.isReadableAgain { try read(lone, of: open, in: context) }
    try reader.drain()
    for damage in reader.damages(archive.path) {
      try context.yield(.row(.failed(damage)))
      end.cutShort()
    }
    end.note { $0.remarks += reader.harmlessRemarks }
  }

  /// Writes the files of links, each once.
  private func read(_ lone: LoneLinks, of open: OpenArchive, in context: Context) throws(BatchError) {
    let missing = try open.readFiles(of: lone, limits: limits) { (file, reader, _) throws(BatchError) in
      try read(file, reader, in: context)
    }
    for link in missing {
      try context.yield(.row(.failed(ExtractionFinisher.noFirstName.at(link.path))))
    }
  }

  private func fail(_ entry: ArchiveEntry, in context: Context) throws(BatchError) {
    let error = BatchError(
      .invalid, "its content is stored with another name, which was not selected", path: entry.path)
    try context.yield(.row(.failed(error)))
  }

  private func read(
    _ entry: ArchiveEntry, _ reader: any MemberReader, in context: Context
  ) throws(BatchError) {
    var end: UInt64 = 0
    try reader.readContent { (piece, offset) throws(BatchError) in
      try yieldZeros(offset - end, in: context)
      context.count(bytes: piece.count)
      try context.yield(.row(.content(Array(piece))))
      end = offset + UInt64(piece.count)
    }
    if entry.hasSize { try entry.checkSize(end: end) }
    if end < entry.size { try yieldZeros(entry.size - end, in: context) }
    try context.yield(.row(.end))
  }

  private func yieldZeros(_ count: UInt64, in context: Context) throws(BatchError) {
    var rest = count
    while rest > 0 {
      let piece = Self.zeros.prefix(Int(min(rest, UInt64(Self.zeros.count))))
      try context.yield(.row(.content(piece.count == Self.zeros.count ? Self.zeros : Array(piece))))
      rest -= UInt64(piece.count)
    }
  }
}

extension PrintReader.Row: MeasuredItem {
  package var measure: ItemMeasure {
    switch self {
    case .content(let bytes):
      ItemMeasure(weight: Int64(bytes.count), count: 0, retained: Int64(bytes.count))
    case .end, .failed: ItemMeasure(weight: 0, retained: 512)
    }
  }
}

/// Writes the contents of members to a stream, one after the other.
package struct PrintJob: BatchJob {
  package typealias Item = PrintReader.Item

  private let stream: any ResultStream

  package init(to stream: any ResultStream) {
    self.stream = stream
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Item, [[UInt8]]> {
    FunctionWorker { (_, _, _) in }
  }

  package func add(_ row: PrintReader.Row, in context: WorkerContext, to pieces: inout [[UInt8]]) {
    switch row {
    case .content(let bytes): pieces.append(bytes)
    case .end: context.finish()
    case .failed(let error): context.fail(Problem(.unreadable, error))
    }
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending RowCollector<[[UInt8]]> {
    RowCollector { [stream] (pieces) throws(BatchError) in
      for piece in pieces { try stream.write(piece) }
    }
  }
}
