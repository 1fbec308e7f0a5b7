import BatchEngine

/// Decodes segments and stages files, on one lane.
package final class ExtractWorker: BatchWorker {
  package typealias Item = ExtractionItem
  package typealias Output = ExtractedChunk

  /// The most bytes of content that wait in memory; more content waits in a file.
  private static let largestContent: UInt64 = 1 << 20

  private let folder: ContainedFolder
  private let selection: MemberSelection
  private let options: ExtractionOptions
  private let writer: MemberWriter
  /// Created for the first segment of an archive.
  private var resources: (archive: ArchiveFile, resources: SegmentResources)?
  /// Bytes of content that were read since the last row that reports them.
  private var byteCount = 0
  /// Whether the rest of the chunk follows damage that ends the extraction.
  private var isStopped = false

  init(
    _ folder: ContainedFolder, selection: MemberSelection, options: ExtractionOptions,
    cancellation: Cancellation
  ) {
    self.folder = folder
    self.selection = selection
    self.options = options
    writer = MemberWriter(folder, options, cancellation)
  }

  package func begin(
    _ chunk: Chunk<Item>, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    isStopped = false
    output.rows.reserveCapacity(chunk.items.count)
  }

  package func process(
    _ item: Item, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    guard !isStopped, !context.isEnded else { return }
    try context.checkCancellation()
    switch item.step {
    case .member(let order, let bytes):
      count(bytes.count, in: context)
      try make(order, into: &output) { write throws(BatchError) in
        guard !bytes.isEmpty else { return }
        try withBytes(of: bytes) { (raw) throws(BatchError) in try write(raw, 0) }
      }
    case .segment(let plan): try extract(plan, in: context, into: &output)
    case .lost(let order, let error): lose(order, error, into: &output)
    case .joined(let file): try join(file, in: context, into: &output)
    }
  }

  private func join(
    _ file: JoinedFile, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    context.startTime()
    defer { context.endTime(of: file.entry.path) }
    var order = ExtractionOrder(entry: file.entry, place: file.place)
    (order.digest, order.isJoined) = (file.digest, true)
    // Its data may end before its size.
    order.entry.dataMap = []
    do throws(BatchError) {
      order.entry.attributes = try file.attributes(memory: options.memory, by: context.reading)
    } catch {
      try context.checkCancellation()
      return lose(order, error, into: &output)
    }
    try make(order, into: &output) { write throws(BatchError) in
      try file.read(memory: options.memory, by: context.reading) { (piece, offset) throws(BatchError) in
        try context.checkCancellation()
        count(piece.count, in: context)
        try write(piece, offset)
      }
    }
  }

  package func settle(in context: WorkerContext, into output: inout Output) { noteBytes(in: &output) }

  package func end(in context: WorkerContext, into output: inout Output) {
    noteBytes(in: &output)
    // Between chunks other code may use the descriptors of the lane.
    writer.closeFolder()
  }

  private func count(_ bytes: Int, in context: WorkerContext) {
    context.count(bytes: bytes)
    byteCount.addClamped(bytes)
  }

  private func noteBytes(in output: inout Output) {
    if byteCount > 0 { output.rows.append(.bytes(byteCount)) }
    byteCount = 0
  }

  // MARK: Members

  /// Creates a member, as far as that does not depend on other members.
  private func make(
    _ order: ExtractionOrder, into output: inout Output, _ fill: MemberWriter.Fill
  ) throws(BatchError) {
    do throws(BatchError) {
      guard order.wait == .nothing else {
        return output.rows.append(.waiting(order, try content(of: order, fill)))
      }
      if let step = try writer.deferredStep(for: order) { return output.rows.append(.deferred(step)) }
      guard order.entry.kind == .file || order.entry.kind == .hardLink else {
        return output.rows.append(.waiting(order, .bytes([])))
      }
      switch try writer.make(order, fill) {
      case .undoable(let file): output.rows.append(.made(file))
      case .staged(let file): output.rows.append(.file(order, file))
      case nil: output.rows.append(.kept(order))
      }
    } catch {
      // A cancellation ends the run; other errors of one member do not.
      if error.code == .cancelled { throw error }
      // The selected members in it report what prevents creating it.
      if order.isOnWay { return }
      lose(order, error.at(order.entry.path), into: &output)
    }
  }

  /// Reads the content of a member that must wait for earlier members.
  private func content(
    of order: ExtractionOrder, _ fill: MemberWriter.Fill
  ) throws(BatchError) -> WaitingContent {
    guard order.entry.dataMap == nil, order.entry.size <= Self.largestContent else {
      return .file(try writer.stageWaiting(order, fill))
    }
    var bytes = [UInt8]()
    if order.entry.kind == .file || order.entry.kind == .hardLink {
      try fill { (piece, offset) throws(BatchError) in
        guard offset == UInt64(bytes.count), UInt64(bytes.count + piece.count) <= order.entry.size else {
          throw BatchError(.malformed, "damaged: there is more content than its size says")
        }
        bytes.append(contentsOf: piece)
      }
    }
    return .bytes(bytes)
  }

  /// Adds a member that cannot be created; no file keeps its name.
  private func lose(_ order: ExtractionOrder, _ error: BatchError, into output: inout Output) {
    output.rows.append(.failed(order.wait == .nothing ? order.place : nil, error))
    if order.wait != .nothing { output.rows.append(.waiting(order, .lost)) }
  }

  // MARK: Segments

  private func extract(
    _ plan: SegmentPlan, in context: WorkerContext, into output: inout Output
  ) throws(BatchError) {
    let resources = try resources(for: plan.archive, context)
    var segment = SegmentReader(archive: plan.archive, loader: resources.loader)
    var choices = plan.choices[...]
    // Digests are compared only when a snapshot is restored.
    let ahead = plan.names.map { _ in (resources.ahead, plan.choices.map(\.number)) }
    writer.ahead = ahead?.0
    defer { writer.ahead = nil }
    do throws(BatchError) {
      // Limits were already checked against the index.
      try segment.read(plan.group, plan.members, limits: ArchiveLimits(), ahead: ahead) {
        (number, _, entry, reader) throws(BatchError) in
        guard let choice = choices.first, choice.number == number else { return }
        choices = choices.dropFirst()
        context.startTime()
        defer { context.endTime(of: entry.path) }
        try make(entry, choice, of: plan, into: &output) { write throws(BatchError) in
          try reader.readContent { (piece, offset) throws(BatchError) in
            count(piece.count, in: context)
            try write(piece, offset)
          }
        }
      }
    } catch {
      try context.checkCancellation()
      guard error.code == .malformed else { throw error }
      // The difference from the index concerns no member, or one that was already extracted.
      if choices.isEmpty || segment.contradiction != nil {
        output.rows.append(.failed(nil, error.at(plan.archive.file.path)))
      }
      if options.keepsGoing {
        try salvage(plan, rest: choices, segment: segment, resources: resources, into: &output)
      } else {
        loseTogether(choices, of: plan, error, into: &output)
        noteBytes(in: &output)
        output.rows.append(.note(.stop))
        isStopped = true
      }
    }
  }

  private func resources(
    for archive: IndexedArchive, _ context: WorkerContext
  ) throws(BatchError) -> SegmentResources {
    if let resources, resources.archive === archive.file { return resources.resources }
    let opened: SegmentResources
    if let former = resources?.resources {
      try former.open(archive, by: context.reading)
      opened = former
    } else {
      opened = try SegmentResources(archive, by: context.reading)
    }
    resources = (archive.file, opened)
    return opened
  }

  private func salvage(
    _ plan: SegmentPlan, rest: ArraySlice<SegmentPlan.Choice>, segment: SegmentReader,
    resources: SegmentResources, into output: inout Output
  ) throws(BatchError) {
    var choices = rest
    try segment.salvage(plan.group, plan.members, digests: resources.digests) {
      (number, member, found) throws(BatchError) in
      guard let choice = choices.first, choice.number == number else { return }
      choices = choices.dropFirst()
      guard let found else {
        let error = BatchError(.malformed, "lost: the archive is damaged here", path: member.path)
        return lose(choice, of: plan, error, into: &output)
      }
      try make(found.entry, choice, of: plan, into: &output) { write throws(BatchError) in
        for (offset, bytes) in found.pieces {
          try withBytes(of: bytes) { (raw) throws(BatchError) in try write(raw, offset) }
        }
      }
    }
  }

  private func make(
    _ entry: ArchiveEntry, _ choice: SegmentPlan.Choice, of plan: SegmentPlan, into output: inout Output,
    _ fill: MemberWriter.Fill
  ) throws(BatchError) {
    let wait: MemberClaims.Wait
    switch choice.disposition {
    case .refused(let error): return output.rows.append(.failed(nil, error))
    case .belowRefused: return output.rows.append(.belowRefused)
    case .superseded: return output.rows.append(.superseded(entry.path))
    case .make(let claimed): wait = claimed
    }
    let selection = plan.selection(or: selection)
    var order: ExtractionOrder
    do throws(BatchError) {
      guard let found = try selection.order(for: entry, wait: wait) else {
        return output.rows.append(.skipped(.notChosen))
      }
      order = found
      order.digest = try plan.names?.digest(for: entry)
    } catch {
      // If the last member with a name is refused, an earlier one is removed.
      guard let place = selection.place(of: entry.path) else {
        return output.rows.append(.skipped(.notChosen))
      }
      return lose(ExtractionOrder(entry: entry, place: place, wait: wait), error, into: &output)
    }
    try make(order, into: &output, fill)
  }

  /// Adds the members of a damaged group with one report for all of them.
  private func loseTogether(
    _ choices: ArraySlice<SegmentPlan.Choice>, of plan: SegmentPlan, _ error: BatchError,
    into output: inout Output
  ) {
    var places: [RelativePath] = []
    var waiting: [ExtractionOrder] = []
    var count = 0
    let selection = plan.selection(or: selection)
    for choice in choices {
      guard case .make(let wait) = choice.disposition else {
        lose(choice, of: plan, error.at(plan.members[choice.number].path), into: &output)
        continue
      }
      count += 1
      let path = plan.members[choice.number].path
      guard let place = selection.place(of: path) else { continue }
      if wait == .nothing {
        places.append(place)
      } else {
        waiting.append(
          ExtractionOrder(entry: ArchiveEntry(path: path, kind: .file), place: place, wait: wait))
      }
    }
    guard count > 0 else { return }
    output.rows.append(
      .lost(
        places, count: count,
        BatchError(
          .malformed,
          "\(plan.archive.index.place(of: plan.group)) are damaged and hold \(count == 1 ? "1 member" : "\(count) members"): "
            + error.message,
          path: plan.archive.file.path, remedy: plan.names == nil ? .keepGoing : .restoreRest)))
    for order in waiting { output.rows.append(.waiting(order, .lost)) }
  }

  /// Adds a member that cannot be created and of which only the index entry is known.
  private func lose(
    _ choice: SegmentPlan.Choice, of plan: SegmentPlan, _ error: BatchError, into output: inout Output
  ) {
    switch choice.disposition {
    case .refused: output.rows.append(.failed(nil, error))
    case .belowRefused: output.rows.append(.belowRefused)
    case .superseded: output.rows.append(.skipped(.superseded))
    case .make(let wait):
      guard let path = error.path, let place = plan.selection(or: selection).place(of: path) else {
        return output.rows.append(.failed(nil, error))
      }
      let order = ExtractionOrder(entry: ArchiveEntry(path: path, kind: .file), place: place, wait: wait)
      lose(order, error, into: &output)
    }
  }
}
