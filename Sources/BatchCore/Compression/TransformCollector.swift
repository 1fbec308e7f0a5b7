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
    case output(TransformReport, StagedOutput.ID, SharedSource?)
    case link(FurtherName, StagedOutput.ID)
    /// A large file whose output is being proved, or that is being copied.
    case completing(LargeFile)
    /// A further name of a file that is.
    case nameOfCompleting(FurtherName, OutputDecision)
  }

  /// So many may wait for one output before it is committed in a batch of its own.
  private static let mostWaiting = 2048

  private let context: CollectorContext
  private let outputs: TransformOutputs
  let committer: OutputCommitter
  private let asked: AskedItems<CompressItem>?
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

  /// - Parameters:
  ///   - stream: takes the blocks of standard input.
  ///   - asked: takes what has to be done about large files whose last block was written.
  init(
    _ outputs: TransformOutputs, stream: StreamOutput? = nil, asked: AskedItems<CompressItem>? = nil,
    in context: CollectorContext, report: @escaping Report
  ) {
    self.context = context
    self.outputs = outputs
    self.asked = asked
    committer = OutputCommitter(
      outputs.stage, isSynced: outputs.options.isSynced, devices: outputs.folders.devices,
      calls: outputs.folders.commits, by: context.commits)
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
      committer.flush()
      try reportSettled()
    }
    context.note(kept: waiting.count - reported)
  }

  package func hold(_ problem: Problem, severity: Severity) -> Bool {
    guard reported < waiting.count else { return false }
    waiting.append(.problem(problem, severity))
    return true
  }

  package func finish() throws(BatchError) -> TransformCounts {
    repeat {
      committer.flush()
      try reportSettled()
      // Links of a file whose output was proved last are made behind it.
    } while reported < waiting.count
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
    for case .proof(let joined) in asked?.giveUp() ?? [] { joined.output.discard() }
    committer.flushLast { targets in
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
    case .output(let report, let output, let source):
      if let source { links.note(report.outcome, of: source) }
      waiting.append(.output(report, output.id, source))
    case .passedOver(let file, let report, let output, let source):
      abandoned = file
      if let source { links.note(report?.outcome, of: source) }
      if let report { waiting.append(output.map { .output(report, $0.id, source) } ?? .report(report)) }
    case .completed(let file, let end): complete(file, end)
    case .failed(let source): links.note(nil, of: source)
    case .link(let name, let decision):
      if isCompleting(name.record.status.identity) {
        waiting.append(.nameOfCompleting(name, decision))
      } else if let next = try take(name, decision) {
        waiting.append(next)
      }
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

  /// - Returns: what is to be reported of a further name; nil when that is nothing.
  private func take(_ name: FurtherName, _ decision: OutputDecision) throws(BatchError) -> Waiting? {
    switch links.take(name, decision) {
    case .skip:
      context.counters.addSkipped(.withoutFirst)
      return nil
    case .report(let outcome):
      context.counters.addSkipped(outcome.skipReason)
      return .report(TransformReport(source: name.record.path, outcome: outcome))
    case .planned(let target):
      context.counters.addDone()
      return .report(TransformReport(source: name.record.path, outcome: .planned(target: target, size: 0)))
    case .refused(let error):
      let severity = context.options.policy.severity(of: .unreadable)
      context.counters.count(Problem(.unreadable, error), severity)
      return .problem(Problem(.unreadable, error), severity)
    case .link(let link):
      try outputs.stage.reserve()
      return .link(name, committer.add(link))
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
    // One place stays for small outputs: lanes that wait for one could not come to the blocks and proofs of large ones.
    try outputs.stage.reserve(sparing: 1)
    do throws(BatchError) {
      return try LargeOutput(file, start, outputs)
    } catch {
      outputs.stage.release()
      throw error
    }
  }

  private func finish(_ output: LargeOutput) throws(BatchError) {
    let file = output.file
    let (joined, remark) = try output.finish()
    if let remark { waiting.append(.problem(Problem(.special, remark), .warning)) }
    let options = outputs.options
    guard options.compressesAll || joined.size < file.record.status.size else {
      abandon(file)
      if options.copiesOthers, options.naming.copyTarget(of: file.record.path) != nil {
        return complete(file, by: .copy(file))
      }
      context.counters.addSkipped(.notSmaller)
      if let source = SharedSource.of(file.record) { links.note(.notSmaller, of: source) }
      waiting.append(.report(TransformReport(source: file.record.path, outcome: .notSmaller)))
      return
    }
    large = nil
    if options.removesSource { return complete(file, by: .proof(joined)) }
    let staged = outputs.stage.add(joined.written())
    let source = SharedSource.of(staged)
    if let source { links.note(joined.report.outcome, of: source) }
    waiting.append(.output(joined.report, staged.id, source))
  }

  /// Has a lane do what is left to be done about a large file, and keeps the file's place among the rows.
  private func complete(_ file: LargeFile, by item: CompressItem) {
    waiting.append(.completing(file))
    asked?.ask(item)
  }

  /// Takes what became of a large file whose place was kept.
  private func complete(_ file: LargeFile, _ end: TransformRow.LargeFileEnd) {
    let place = waiting.indices.dropFirst(reported).first { index in
      if case .completing(let other) = waiting[index] { other === file } else { false }
    }
    guard let place else { return }
    switch end {
    case .done(let report, let output, let source, let remark):
      if let source { links.note(report.outcome, of: source) }
      if let output {
        waiting[place] = .output(report, output.id, source)
      } else {
        context.counters.addSkipped(report.outcome.skipReason)
        waiting[place] = .report(report)
      }
      if let remark { waiting.insert(.problem(Problem(.special, remark), .warning), at: place) }
    case .failed(let problem): waiting[place] = failure(of: file, problem)
    }
  }

  private func isCompleting(_ source: FileIdentity) -> Bool {
    guard asked != nil, outputs.options.removesSource || outputs.options.copiesOthers else { return false }
    return waiting.dropFirst(reported).contains {
      if case .completing(let file) = $0 { file.record.status.identity == source } else { false }
    }
  }

  /// Gives up the output of a large file, and its blocks that are still to come.
  private func abandon(_ file: LargeFile) {
    file.end(at: 0)
    abandoned = file
    guard let output = large else { return }
    output.discard()
    outputs.stage.release()
    large = nil
  }

  private func fail(_ file: LargeFile, _ problem: Problem) { waiting.append(failure(of: file, problem)) }

  private func failure(of file: LargeFile, _ problem: Problem) -> Waiting {
    if let source = SharedSource.of(file.record) { links.note(nil, of: source) }
    // A file that changed has no output: whatever the policy, it is not done.
    let severity = problem.event == .changed ? .failure : context.options.policy.severity(of: problem.event)
    if severity == .failure {
      context.counters.addFailed()
    } else {
      context.counters.addSkipped(problem.skipReason)
    }
    return .problem(problem, severity)
  }

  // MARK: Reports in order

  /// Reports what waited for outputs that are committed now.
  private func reportSettled() throws(BatchError) {
    while reported < waiting.count {
      switch waiting[reported] {
      case .report(let report): try tell(report)
      case .problem(let problem, let severity): context.report(problem, severity: severity)
      case .output(let report, let id, let source):
        guard let outcome = committer.outcome(of: id) else { return compact() }
        try settle(report, outcome, source)
      case .link(let name, let id):
        guard let outcome = committer.outcome(of: id) else { return compact() }
        try settle(name, outcome)
      case .completing: return compact()
      case .nameOfCompleting(let name, let decision):
        if let next = try take(name, decision) {
          waiting[reported] = next
          continue
        }
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
