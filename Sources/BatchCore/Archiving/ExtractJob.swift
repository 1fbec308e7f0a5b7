/// Unpacks an archive.
public final class ExtractJob: BatchJob {
  /// What a chunk came to.
  public struct Output: Sendable {
    var reports: [ExtractionReport] = []
    var steps: [DeferredStep] = []
  }

  private let extraction: Extraction
  private let report: @Sendable ([ExtractionReport]) throws(BatchError) -> Void

  /// - Parameter report: takes what became of members, in the order of the archive; links and folders come at
  ///   the end, from ``Extraction/finish(counters:report:problem:)``.
  public init(
    _ extraction: Extraction, report: @escaping @Sendable ([ExtractionReport]) throws(BatchError) -> Void
  ) {
    self.extraction = extraction
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
      case .problem(let error): report(error, in: context)
      case .passed: context.skip()
      }
    }
    return output
  }

  public func collect(_ output: Output) throws(BatchError) {
    extraction.add(output.steps)
    try report(output.reports)
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
        context.report(Problem(.unreadable, error.at(plan.archive.file.path)))
      }
      guard extraction.options.keepsGoing else {
        extraction.endEarly()
        for choice in choices {
          report(error.at(plan.members[choice.number].path), in: context)
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
        report(error, in: context)
        return
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
    do throws(BatchError) {
      if let refusal = choice.refusal { throw refusal }
      guard let order = try extraction.planner.order(for: entry) else { return context.skip() }
      settle(order, lane.extract(order, fill), in: context, into: &output)
    } catch {
      report(error, in: context)
    }
  }

  private func settle(
    _ order: ExtractionOrder, _ verdict: ExtractionVerdict, in context: ChunkContext,
    into output: inout Output
  ) {
    switch verdict {
    case .failed(let error): report(error, in: context)
    case .kept:
      context.skip()
      output.reports.append(ExtractionReport(path: order.entry.path, outcome: .kept))
    case .deferred(let step, let losses):
      warn(losses, order, in: context)
      output.steps.append(step)
    case .made(let losses):
      warn(losses, order, in: context)
      context.finish()
      output.reports.append(ExtractionReport(path: order.entry.path, outcome: .extracted))
    }
  }

  private func report(_ error: BatchError, in context: ChunkContext) {
    if error.code == .malformed { extraction.noteDamage() }
    context.report(Problem(.unreadable, error))
  }

  private func warn(_ losses: EntryMetadata.Losses, _ order: ExtractionOrder, in context: ChunkContext) {
    for error in extraction.warning(of: losses, path: order.entry.path) {
      context.warn(Problem(.special, error))
    }
  }
}
