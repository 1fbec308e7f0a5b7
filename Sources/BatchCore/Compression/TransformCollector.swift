import BatchEngine

/// Joins the blocks of large files, and reports and counts what became of sources, in tree order.
///
/// Outputs get their names in completion order. A source is reported when its output is safe, and what follows it waits
/// here, so that reports and problems come in the same order at every concurrency.
package final class TransformCollector: BatchCollector {
  package typealias Report = @Sendable (TransformReport) throws(BatchError) -> Void

  /// A row or problem whose turn to be reported has not come.
  private enum Waiting {
    case report(TransformReport)
    case problem(Problem, Severity)
    case output(TransformReport, OutputCommitter.Commitment, SharedSource?)
    case link(FurtherName, OutputCommitter.Commitment)
  }

  /// So many may wait for one output before it is committed in a batch of its own.
  private static let mostWaiting = 4096

  private let context: CollectorContext
  private let outputs: TransformOutputs
  private let links: LinkLedger
  private let stream: StreamOutput?
  private let report: Report
  private var counts = TransformCounts()
  private var waiting: [Waiting] = []
  /// How many of those that wait have been reported.
  private var reported = 0
  /// The large file whose blocks come, while its output is open.
  private var large: LargeOutput?
  /// The large file whose blocks come, when its output was given up.
  private var abandoned: LargeFile?

  /// - Parameter stream: takes the blocks of standard input.
  init(
    _ outputs: TransformOutputs, stream: StreamOutput? = nil, in context: CollectorContext,
    report: @escaping Report
  ) {
    self.context = context
    self.outputs = outputs
    self.stream = stream
    self.report = report
    links = LinkLedger(outputs.options, outputs.folders)
  }

  /// After a stop too: outputs that are complete by then get their names, and rows say what they are.
  package var collectsAfterStop: Bool { true }

  package func collect(_ rows: [TransformRow]) throws(BatchError) {
    if context.cancellation.isCancelled {
      for row in rows where row.content.isComplete { try take(row.content) }
      return
    }
    for row in rows { try take(row.content) }
    try reportSettled()
    if waiting.count - reported > Self.mostWaiting {
      outputs.committer.flush()
      try reportSettled()
    }
  }

  package func hold(_ problem: Problem, severity: Severity) -> Bool {
    guard reported < waiting.count else { return false }
    waiting.append(.problem(problem, severity))
    return true
  }

  package func finish() throws(BatchError) -> TransformCounts {
    outputs.committer.flush()
    try reportSettled()
    links.removeSources(by: context.commits) {
      warn($0)
    } failed: {
      context.counters.withdrawDone()
      context.report(Problem(.unreadable, $0), severity: .failure)
    }
    for error in outputs.folders.finish() { warn(error) }
    try endStream()
    return counts
  }

  /// Commits the outputs that are complete, which is one batch, and counts them; nothing more is read.
  package func discard() {
    large?.discard()
    large = nil
    outputs.committer.flushLast { targets in
      for target in targets {
        warn(
          BatchError(
            .special, "is complete and waits for the disk; a second signal discards it", path: target))
      }
    }
    // Behind an error that ended the run nothing is reported.
    while context.cancellation.isFromOutside, reported < waiting.count {
      // A report that cannot be delivered any more changes no count.
      try? reportSettled()
      if reported < waiting.count { reported += 1 }
    }
    _ = outputs.folders.finish()
  }

  // MARK: Rows as they come

  private func take(_ row: TransformRow.Content) throws(BatchError) {
    switch row {
    case .report(let report, let source):
      if let source { links.note(report.outcome, of: source) }
      waiting.append(.report(report))
    case .output(let report, let commitment, let source):
      if let source { links.note(report.outcome, of: source) }
      waiting.append(.output(report, commitment, source))
    case .failed(let source): links.note(nil, of: source)
    case .link(let name, let decision): take(name, decision)
    case .block(let file, let block, _) where outputs.options.writesToStream:
      try appendToStream(block, of: file)
    case .block(let file, let block, let start): try append(block, of: file, start)
    case .failedBlock(let file, let problem):
      guard abandoned !== file else { return }
      if outputs.options.writesToStream, stream?.isOpen == true {
        // What is out already is no compressed file, and nothing behind it could be read.
        throw BatchError(
          .unwritable, "standard output ends in the middle of this file: \(problem.error.message)",
          path: file.record.path, errno: problem.error.errno)
      }
      abandon(file)
      fail(file, problem)
    case .streamBlock(let block):
      // A second stream begins where the first one ends.
      if block.index == 0 { try endStream() }
      try stream?.append(block)
      context.counters.addBytes(block.plainCount)
    case .streamed(let plain, let compressed): counts.addStream(plain: plain, compressed: compressed)
    case .streamFile(let report, let bytes):
      try endStream()
      try stream?.append(bytes)
      context.counters.addDone()
      waiting.append(.report(report))
    }
  }

  /// Ends the stream that standard input became.
  private func endStream() throws(BatchError) {
    guard let sizes = try stream?.finish() else { return }
    context.counters.addDone()
    counts.addStream(plain: sizes.plain, compressed: sizes.compressed)
  }

  private func appendToStream(_ block: CompressedBlock, of file: LargeFile) throws(BatchError) {
    guard abandoned !== file, let stream else { return }
    if block.index == 0 { try endStream() }
    try stream.append(block, of: file.plan)
    context.counters.addBytes(block.plainCount)
    guard block.index == file.blockCount - 1, let sizes = try stream.finish() else { return }
    context.counters.addDone()
    let outcome = TransformOutcome.written(
      target: "-", plainSize: sizes.plain, compressedSize: sizes.compressed)
    waiting.append(.report(TransformReport(source: file.record.path, outcome: outcome)))
  }

  private func take(_ name: FurtherName, _ decision: OutputDecision) {
    switch links.take(name, decision) {
    case .skip: context.counters.addSkipped(.withoutFirst)
    case .report(let outcome):
      context.counters.addSkipped(outcome.skipReason)
      waiting.append(.report(TransformReport(source: name.record.path, outcome: outcome)))
    case .planned(let target):
      context.counters.addDone()
      waiting.append(
        .report(TransformReport(source: name.record.path, outcome: .planned(target: target, size: 0))))
    case .refused(let error):
      let severity = context.options.policy.severity(of: .unreadable)
      context.counters.count(Problem(.unreadable, error), severity)
      waiting.append(.problem(Problem(.unreadable, error), severity))
    case .link(let link):
      outputs.committer.reserve()
      waiting.append(.link(name, outputs.committer.add(.link(link), by: context.commits)))
    }
  }

  // MARK: Large files

  private func append(
    _ block: CompressedBlock, of file: LargeFile, _ start: LargeFileStart?
  ) throws(BatchError) {
    guard abandoned !== file else { return }
    do throws(BatchError) {
      if let start { large = try open(file, start) }
      guard let output = large else { return }
      try output.append(block)
      context.counters.addBytes(block.plainCount)
      if block.index == file.blockCount - 1 { try finish(output) }
    } catch {
      abandon(file)
      if error.code == .cancelled { throw error }
      fail(file, Problem(error.code == .changed ? .changed : .unreadable, error))
    }
  }

  private func open(_ file: LargeFile, _ start: LargeFileStart) throws(BatchError) -> LargeOutput {
    outputs.committer.reserve()
    do throws(BatchError) {
      return try LargeOutput(file, start, outputs)
    } catch {
      outputs.committer.release()
      throw error
    }
  }

  private func finish(_ output: LargeOutput) throws(BatchError) {
    let file = output.file
    let (size, remark) = try output.finish()
    if let remark { waiting.append(.problem(Problem(.special, remark), .warning)) }
    let options = outputs.options
    guard options.compressesAll || size < file.record.status.size else {
      abandon(file)
      if options.copiesOthers, let target = options.naming.copyTarget(of: file.record.path) {
        return try copy(file, to: target)
      }
      context.counters.addSkipped(.notSmaller)
      let source = SharedSource.of(file.record)
      if let source { links.note(.notSmaller, of: source) }
      waiting.append(.report(TransformReport(source: file.record.path, outcome: .notSmaller)))
      return
    }
    let staged = options.removesSource ? try output.proved(file.plan.format, in: context) : output.staged()
    large = nil
    let outcome = TransformOutcome.written(
      target: file.target, plainSize: file.record.status.size, compressedSize: size)
    let source = SharedSource.of(staged)
    if let source { links.note(outcome, of: source) }
    var report = TransformReport(source: file.record.path, outcome: outcome)
    report.hasReplaced = file.decision.isReplacing
    waiting.append(
      .output(
        report, outputs.committer.add(.file(staged), by: context.commits),
        source))
  }

  /// Copies a large file whose compressed form is not smaller.
  private func copy(_ file: LargeFile, to target: PathBytes) throws(BatchError) {
    let record = file.record
    do throws(BatchError) {
      var last: OutputPlace?
      let plan = try OutputPlan(
        for: record, target: target, outputs.options, outputs.folders, after: &last)
      if case .refused(let error) = plan.decision { throw error }
      if case .upToDate(let output) = plan.decision {
        context.counters.addSkipped(.upToDate)
        let source = SharedSource.of(record, output: output, isCopy: true)
        if let source { links.note(.upToDate, of: source) }
        return waiting.append(.report(TransformReport(source: record.path, outcome: .upToDate)))
      }
      let reader = FileReader(calls: context.calls, by: .transformCollector)
      let copy = try PlainCopy(outputs: outputs).stage(record, plan) { (opened, consume) throws(BatchError) in
        let outcome = try reader.read(record, opened: opened) { (piece) throws(BatchError) in
          try context.cancellation.check()
          try consume(piece)
        }
        guard outcome.isStable else {
          throw BatchError(.changed, "changed while it was read", path: record.path)
        }
        return outcome
      }
      guard let copy else { return }
      if let remark = copy.remark { waiting.append(.problem(Problem(.special, remark), .warning)) }
      let source = SharedSource.of(copy.output, isCopy: true)
      let outcome = TransformOutcome.copied(target: target, size: copy.output.read.size)
      if let source { links.note(outcome, of: source) }
      waiting.append(
        .output(
          TransformReport(source: record.path, outcome: outcome),
          outputs.committer.add(.file(copy.output), by: context.commits),
          source))
    } catch {
      guard error.code != .cancelled else { throw error }
      fail(file, Problem(error))
    }
  }

  /// Gives up the output of a large file, and its blocks that are still to come.
  private func abandon(_ file: LargeFile) {
    file.end(at: 0)
    abandoned = file
    guard let output = large else { return }
    output.discard()
    outputs.committer.release()
    large = nil
  }

  private func fail(_ file: LargeFile, _ problem: Problem) {
    if let source = SharedSource.of(file.record) { links.note(nil, of: source) }
    // A file that changed has no output: whatever the policy, it is not done.
    let severity = problem.event == .changed ? .failure : context.options.policy.severity(of: problem.event)
    if severity == .failure {
      context.counters.addFailed()
    } else {
      context.counters.addSkipped(problem.skipReason)
    }
    waiting.append(.problem(problem, severity))
  }

  // MARK: Reports in order

  /// Reports what waited for outputs that are committed now.
  private func reportSettled() throws(BatchError) {
    while reported < waiting.count {
      switch waiting[reported] {
      case .report(let report): try tell(report)
      case .problem(let problem, let severity): context.report(problem, severity: severity)
      case .output(let report, let commitment, let source):
        guard let outcome = outputs.committer.outcome(of: commitment) else { return compact() }
        try settle(report, outcome, source)
      case .link(let name, let commitment):
        guard let outcome = outputs.committer.outcome(of: commitment) else { return compact() }
        try settle(name, outcome)
      }
      reported += 1
    }
    compact()
  }

  private func settle(
    _ report: TransformReport, _ outcome: CommitOutcome, _ source: SharedSource?
  ) throws(BatchError) {
    switch outcome {
    case .committed(let remaining):
      if let source { links.committed(source, isSafe: true) }
      if remaining == nil { context.counters.addDone() }
      try tell(report)
      if let remaining { fail(remaining) }
    case .failed(let error):
      if let source { links.committed(source, isSafe: false) }
      fail(error)
    case .withoutFirst: break
    }
  }

  private func settle(_ name: FurtherName, _ outcome: CommitOutcome) throws(BatchError) {
    switch outcome {
    case .committed:
      links.linked(name)
      context.counters.addDone()
      try tell(TransformReport(source: name.record.path, outcome: .linked(target: name.target)))
    case .withoutFirst: context.counters.addSkipped(.withoutFirst)
    case .failed(let error):
      guard !links.hasFailed(name) else { return context.counters.addSkipped(.withoutFirst) }
      context.report(Problem(.unreadable, error))
    }
  }

  /// Lets go of what has been reported, when that is most of what there is.
  private func compact() {
    guard reported * 2 >= waiting.count else { return }
    if reported == waiting.count {
      waiting.removeAll(keepingCapacity: true)
    } else {
      waiting.removeFirst(reported)
    }
    reported = 0
  }

  private func tell(_ report: TransformReport) throws(BatchError) {
    counts.add(report)
    try self.report(report)
  }

  /// A source whose output could not get its name, or that could not be removed, counts as failed whatever the policy.
  private func fail(_ error: BatchError) {
    context.counters.addFailed()
    context.report(Problem(.unreadable, error), severity: .failure)
  }

  private func warn(_ error: BatchError) {
    context.report(Problem(.unreadable, error), severity: .warning)
  }
}
