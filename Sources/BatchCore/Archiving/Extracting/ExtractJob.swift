import BatchEngine

/// Unpacks an archive.
public final class ExtractJob: ChunkJob {
  /// What a chunk came to.
  public struct Output: Sendable {
    var reports: [ExtractionReport] = []
    var steps: [Extraction.CollectedStep] = []
    /// Places of members of which nothing was made.
    var unmade: [MemberPath] = []
  }

  /// In bytes; more content than this waits in a file.
  private static let largestContent: UInt64 = 1 << 20

  private let extraction: Extraction
  private let counters: Counters
  private let report: @Sendable ([ExtractionReport]) throws(BatchError) -> Void

  /// - Parameters:
  ///   - counters: those of the run.
  ///   - report: takes what became of members, in the order of the archive; links and folders come at the end, from
  ///     ``Extraction/finish(counters:report:problem:)``.
  public init(
    _ extraction: Extraction, counters: Counters,
    report: @escaping @Sendable ([ExtractionReport]) throws(BatchError) -> Void
  ) {
    self.extraction = extraction
    self.counters = counters
    self.report = report
  }

  public func process(
    _ chunk: Chunk<ExtractionItem>, in context: ChunkContext
  ) throws(BatchError) -> Output {
    let lane = try context.tool(of: self) { () throws(BatchError) in extraction.makeLane() }
    // Between chunks the descriptors of the lane are somebody else's.
    defer { lane.closeFolder() }
    var output = Output()
    for item in chunk.items {
      try context.checkCancellation()
      switch item.step {
      case .member(let order, let bytes):
        guard order.turn == .any else {
          context.count(bytes: bytes.count)
          output.steps.append(.waiting(order, .bytes(bytes)))
          continue
        }
        let verdict = lane.extract(order) { write throws(BatchError) in
          guard !bytes.isEmpty else { return }
          try withBytes(of: bytes) { (raw) throws(BatchError) in try write(raw, 0) }
        }
        context.count(bytes: bytes.count)
        settle(order, verdict, in: context, into: &output)
      case .settled(let order, let verdict, let bytes):
        context.count(bytes: bytes)
        settle(order, verdict, in: context, into: &output)
      case .segment(let plan): try extract(plan, by: lane, in: context, into: &output)
      case .staged(let order, let file, let bytes):
        context.count(bytes: bytes)
        output.steps.append(.waiting(order, .file(file)))
      case .lost(let order, let error): lose(order, error, in: context, into: &output)
      case .problem(let error): report(error, in: context)
      case .passed: context.skip()
      }
    }
    return output
  }

  public func collect(_ output: Output) throws(BatchError) {
    var reports = output.reports
    extraction.collect(output.steps, unmade: output.unmade) { (order, verdict) in
      let path = order.entry.path
      switch verdict {
      case .failed(let error):
        if error.code == .malformed { extraction.noteDamage() }
        counters.addFailed()
        extraction.add(late: Problem(.unreadable, error), severity: .failure)
      case .kept, .superseded:
        counters.addSkipped()
        let isKept = if case .kept = verdict { true } else { false }
        reports.append(ExtractionReport(path: path, outcome: isKept ? .kept : .superseded))
      case .made(let losses), .deferred(_, let losses):
        for error in extraction.warning(of: losses, path: path) {
          extraction.add(late: Problem(.special, error), severity: .warning)
        }
        guard case .made = verdict else { return }
        counters.addDone()
        reports.append(ExtractionReport(path: path, outcome: .extracted))
      }
    }
    try report(reports)
  }

  // MARK: Segments

  private func extract(
    _ plan: SegmentPlan, by lane: ExtractionLane, in context: ChunkContext, into output: inout Output
  ) throws(BatchError) {
    let tools = try context.tool(of: extraction) { () throws(BatchError) in try SegmentTools(plan.archive) }
    var segment = SegmentReader(archive: plan.archive, loader: tools.loader)
    var choices = plan.choices[...]
    do throws(BatchError) {
      // What is too much was told by the index before.
      try segment.read(plan.group, plan.members, limits: ArchiveLimits()) {
        (number, _, entry, reader) throws(BatchError) in
        guard let choice = choices.first, choice.number == number else { return }
        choices = choices.dropFirst()
        settle(entry, choice, by: lane, in: context, into: &output) { write throws(BatchError) in
          try reader.readContent { (piece, offset) throws(BatchError) in
            context.count(bytes: piece.count)
            try write(piece, offset)
          }
        }
      }
    } catch {
      try context.checkCancellation()
      guard error.code == .malformed else { throw error }
      // What differs from the index has no member's name, or that of a member that was extracted before.
      if choices.isEmpty || segment.contradiction != nil {
        report(error.at(plan.archive.file.path), in: context)
      }
      guard extraction.options.keepsGoing else {
        extraction.endEarly()
        for choice in choices {
          lose(choice, error.at(plan.members[choice.number].path), in: context, into: &output)
        }
        return
      }
      try salvage(plan, choices, segment, tools, by: lane, in: context, into: &output)
    }
  }

  private func salvage(
    _ plan: SegmentPlan, _ rest: ArraySlice<SegmentPlan.Choice>, _ segment: SegmentReader,
    _ tools: SegmentTools,
    by lane: ExtractionLane, in context: ChunkContext, into output: inout Output
  ) throws(BatchError) {
    var choices = rest
    try segment.salvage(plan.group, plan.members, digests: tools.digests) {
      (number, member, found) throws(BatchError) in
      guard let choice = choices.first, choice.number == number else { return }
      choices = choices.dropFirst()
      guard let found else {
        let error = BatchError(.malformed, "lost: the archive is damaged here", path: member.path)
        return lose(choice, error, in: context, into: &output)
      }
      settle(found.entry, choice, by: lane, in: context, into: &output) { write throws(BatchError) in
        for (offset, bytes) in found.pieces {
          try withBytes(of: bytes) { (raw) throws(BatchError) in try write(raw, offset) }
        }
      }
    }
  }

  private func settle(
    _ entry: ArchiveEntry, _ choice: SegmentPlan.Choice, by lane: ExtractionLane, in context: ChunkContext,
    into output: inout Output, _ fill: ExtractionLane.Fill
  ) {
    switch choice.disposition {
    case .refused(let error): report(error, in: context)
    case .superseded:
      context.skip()
      output.reports.append(ExtractionReport(path: entry.path, outcome: .superseded))
    case .make(let turn): make(entry, turn, by: lane, in: context, into: &output, fill)
    }
  }

  private func make(
    _ entry: ArchiveEntry, _ turn: MemberClaims.Turn, by lane: ExtractionLane, in context: ChunkContext,
    into output: inout Output, _ fill: ExtractionLane.Fill
  ) {
    let order: ExtractionOrder
    do throws(BatchError) {
      guard let found = try extraction.planner.order(for: entry, turn: turn) else { return context.skip() }
      order = found
    } catch {
      // Where the last member of a name is refused, nothing of an earlier one stays.
      guard let place = extraction.planner.place(of: entry.path) else { return context.skip() }
      let order = ExtractionOrder(entry: entry, place: place, turn: turn)
      return lose(order, error, in: context, into: &output)
    }
    guard turn == .any else { return hold(order, by: lane, in: context, into: &output, fill) }
    settle(order, lane.extract(order, fill), in: context, into: &output)
  }

  private func settle(
    _ order: ExtractionOrder, _ verdict: ExtractionVerdict, in context: ChunkContext,
    into output: inout Output
  ) {
    switch verdict {
    case .failed(let error):
      output.unmade.append(order.place)
      report(error, in: context)
    case .superseded: context.skip()
    case .kept:
      output.unmade.append(order.place)
      context.skip()
      output.reports.append(ExtractionReport(path: order.entry.path, outcome: .kept))
    case .deferred(let step, let losses):
      warn(losses, order, in: context)
      output.steps.append(.deferred(step))
    case .made(let losses):
      warn(losses, order, in: context)
      context.finish()
      output.reports.append(ExtractionReport(path: order.entry.path, outcome: .extracted))
    }
  }

  private func report(_ error: BatchError, in context: ChunkContext) {
    // Every file that follows would fail in the same way.
    if error.isOutOfSpace { return extraction.archive.cancellation.cancel(error) }
    if error.code == .malformed { extraction.noteDamage() }
    context.report(Problem(.unreadable, error))
  }

  /// Reads the content of a member that waits for the members before it.
  private func hold(
    _ order: ExtractionOrder, by lane: ExtractionLane, in context: ChunkContext,
    into output: inout Output, _ fill: ExtractionLane.Fill
  ) {
    do throws(BatchError) {
      guard order.entry.dataMap == nil, order.entry.size <= Self.largestContent else {
        output.steps.append(.waiting(order, .file(try lane.stage(order, fill))))
        return
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
      output.steps.append(.waiting(order, .bytes(bytes)))
    } catch {
      lose(order, error.at(order.entry.path), in: context, into: &output)
    }
  }

  /// Reports a member that cannot be read; nothing stays under its name.
  private func lose(
    _ order: ExtractionOrder, _ error: BatchError, in context: ChunkContext, into output: inout Output
  ) {
    report(error, in: context)
    if order.turn == .any {
      output.unmade.append(order.place)
    } else {
      output.steps.append(.waiting(order, .lost))
    }
  }

  /// The same for one of which only the index is known.
  private func lose(
    _ choice: SegmentPlan.Choice, _ error: BatchError, in context: ChunkContext, into output: inout Output
  ) {
    guard case .make(let turn) = choice.disposition else {
      if case .superseded = choice.disposition { return context.skip() }
      report(error, in: context)
      return
    }
    guard let path = error.path, let place = extraction.planner.place(of: path) else {
      report(error, in: context)
      return
    }
    let order = ExtractionOrder(entry: ArchiveEntry(path: path, kind: .file), place: place, turn: turn)
    lose(order, error, in: context, into: &output)
  }

  private func warn(_ losses: EntryMetadata.Losses, _ order: ExtractionOrder, in context: ChunkContext) {
    for error in extraction.warning(of: losses, path: order.entry.path) {
      context.warn(Problem(.special, error))
    }
  }
}
