import BatchEngine

/// Commits the outputs of a run that makes one output for each source, and reports and counts the results of the sources in
/// tree order. A job's collector owns one and passes each row to it.
///
/// Outputs are committed in completion order. A source is reported when its output is committed, and later rows wait here, so
/// that reports and problems have the same order at every concurrency. All calls are made on the queue of the collector.
package final class OutputCollector<Report: OutputReport> {
  /// Identifies a source whose position among the rows is reserved until its result is known.
  package typealias Place = ObjectIdentifier

  /// A row or problem that has not been reported yet.
  private enum Waiting {
    case report(Report)
    case problem(Problem, Severity)
    case output(Report, StagedOutput.ID, LinkedSource?)
    case link(HardLinkItem, StagedOutput.ID)
    /// A source that is not finished.
    case kept(Place, FileIdentity)
    /// A further name of such a source.
    case nameOfKept(HardLinkItem, OutputDecision)
  }

  /// If more rows than these wait for an output, the staged outputs are committed at once.
  private static var mostWaiting: Int { 2048 }

  private let context: CollectorContext
  private let outputs: OutputStage
  let commits: OutputStage.Commits
  private let links: LinkLedger
  private let report: (Report) throws(BatchError) -> Void
  private let retry: (Report, FileRecord, BatchError) -> Place?
  private var waiting: [Waiting] = []
  /// How many of the waiting rows have been reported.
  private var reported = 0
  /// Whether the run was stopped, so that no further link is made.
  private var isStopped = false
  /// The reserved positions.
  private var kept: Set<Place> = []

  /// - Parameters:
  ///   - report: receives the result of each source when its output is committed.
  ///   - retry: takes a source whose output was complete and could not be committed for lack of space; returns its place, or nil
  ///     if it has failed.
  package init(
    _ outputs: OutputStage, in context: CollectorContext,
    report: @escaping (Report) throws(BatchError) -> Void,
    retry: @escaping (Report, FileRecord, BatchError) -> Place? = { _, _, _ in nil }
  ) {
    self.context = context
    self.outputs = outputs
    self.report = report
    self.retry = retry
    commits = outputs.commits(by: context.commits)
    links = LinkLedger(outputs.options, outputs.folders)
  }

  // MARK: Rows as they come

  /// Adds a source whose output need not be committed.
  ///
  /// - Parameter source: if the source has further names.
  package func add(_ report: Report, of source: LinkedSource?) {
    if let source { links.note(report.outcome, of: source) }
    waiting.append(.report(report))
  }

  package func add(_ report: Report, _ output: StagedOutput) { waiting.append(row(report, output)) }

  private func row(_ report: Report, _ output: StagedOutput) -> Waiting {
    let source = LinkedSource.of(output, isCopy: report.outcome.isCopy)
    if let source { links.note(report.outcome, of: source) }
    return .output(report, output.id, source)
  }

  package func add(_ name: HardLinkItem, _ decision: OutputDecision) throws(BatchError) {
    if isKept(name.record.status.identity) {
      waiting.append(.nameOfKept(name, decision))
    } else if let next = try take(name, decision) {
      waiting.append(next)
    }
  }

  /// Adds a warning about the previous row.
  package func add(warning error: BatchError) { waiting.append(.problem(Problem(.special, error), .warning)) }

  /// Records that a source with further names has failed; the failure was reported.
  package func noteFailure(of source: LinkedSource) { links.note(nil, of: source) }

  /// Adds a failed source, and counts it.
  package func fail(_ record: FileRecord, _ problem: Problem) { waiting.append(failure(of: record, problem)) }

  /// Reserves the position of a source among the rows.
  package func keep(_ place: Place, for record: FileRecord) {
    kept.insert(place)
    waiting.append(.kept(place, record.status.identity))
  }

  /// Adds the staged output of a source whose position was reserved, after an additional warning.
  package func fill(_ place: Place, with report: Report, _ output: StagedOutput, after remark: BatchError?) {
    guard let index = takeIndex(of: place) else { return }
    waiting[index] = row(report, output)
    if let remark { waiting.insert(.problem(Problem(.special, remark), .warning), at: index) }
  }

  /// Adds a source whose position was reserved, and whose output need not be committed.
  ///
  /// - Parameter isCounted: whether the lane has counted it.
  package func fill(_ place: Place, with report: Report, of source: LinkedSource?, isCounted: Bool = false) {
    guard let index = takeIndex(of: place) else { return }
    if let source { links.note(report.outcome, of: source) }
    if !isCounted { context.counters.addSkipped(report.outcome.skipReason) }
    waiting[index] = .report(report)
  }

  /// Whether a position is reserved.
  package func isKept(_ place: Place) -> Bool { kept.contains(place) }

  /// Adds a source whose position was reserved, and which failed whatever the policy.
  ///
  /// - Parameter count: how many sources have failed with it.
  package func fill(_ place: Place, with report: Report, failed error: BatchError, count: Int) {
    guard let index = takeIndex(of: place) else { return }
    for _ in 0..<count { context.counters.addFailed() }
    waiting[index] = .report(report)
    waiting.insert(.problem(Problem(.unreadable, error), .failure), at: index + 1)
  }

  /// Gives up the position of a source that has failed; the failure was reported.
  package func drop(_ place: Place, for record: FileRecord) {
    guard let index = takeIndex(of: place) else { return }
    if let source = LinkedSource.of(record) { links.note(nil, of: source) }
    waiting.remove(at: index)
  }

  /// Whether so many rows wait that no position should stay reserved for longer.
  package var isCrowded: Bool { waiting.count - reported > Self.mostWaiting }

  /// How many outputs have been committed; their sources are removed, if the options require it.
  package var committedCount: Int { commits.count }

  /// Adds the failure of a source whose position was reserved.
  package func fill(_ place: Place, of record: FileRecord, with problem: Problem) {
    guard let index = takeIndex(of: place) else { return }
    waiting[index] = failure(of: record, problem)
  }

  private func takeIndex(of place: Place) -> Int? {
    guard kept.contains(place) else { return nil }
    let index = waiting.indices.dropFirst(reported).first { index in
      if case .kept(place, _) = waiting[index] { true } else { false }
    }
    kept.remove(place)
    return index
  }

  private func isKept(_ source: FileIdentity) -> Bool {
    guard !kept.isEmpty else { return false }
    return waiting.dropFirst(reported).contains {
      if case .kept(_, source) = $0 { true } else { false }
    }
  }

  /// - Returns: the report of a further name; nil when there is no report.
  private func take(_ name: HardLinkItem, _ decision: OutputDecision) throws(BatchError) -> Waiting? {
    switch links.take(name, decision) {
    case .skip:
      context.counters.addSkipped(.withoutFirst)
      return nil
    case .report(let outcome):
      context.counters.addSkipped(outcome.skipReason)
      return .report(Report(source: name.record.path, outcome: outcome))
    case .planned(let target):
      context.counters.addDone()
      return .report(Report(source: name.record.path, outcome: .planned(target: target, size: 0)))
    case .refused(let error):
      let severity = context.options.policy.severity(of: .unreadable)
      context.counters.count(Problem(.unreadable, error), severity)
      return .problem(Problem(.unreadable, error), severity)
    case .link(let link):
      try outputs.reserve()
      return .link(name, commits.add(link))
    }
  }

  private func failure(of record: FileRecord, _ problem: Problem) -> Waiting {
    if let source = LinkedSource.of(record) { links.note(nil, of: source) }
    // A file that changed has no output, so it counts as failed under every policy.
    let severity = problem.event == .changed ? .failure : context.options.policy.severity(of: problem.event)
    context.counters.count(problem, severity)
    return .problem(problem, severity)
  }

  // MARK: The life of a run

  /// Keeps a problem that must be reported after waiting rows.
  ///
  /// - Returns: whether it was kept; otherwise the caller reports it at once.
  package func hold(_ problem: Problem, severity: Severity) -> Bool {
    guard reported < waiting.count else { return false }
    waiting.append(.problem(problem, severity))
    return true
  }

  /// Reports rows whose outputs are committed now. Called after the last row of a chunk.
  package func settle() throws(BatchError) {
    try reportSettled()
    if waiting.count - reported > Self.mostWaiting {
      commits.flush()
      try reportSettled()
    }
    context.note(kept: waiting.count - reported)
  }

  /// Commits what is complete, and reports it.
  package func checkpoint() throws(BatchError) {
    commits.flush()
    try settle()
  }

  /// Commits what is complete, so that the space of removed sources becomes free.
  package func flush() { commits.flush() }

  /// Commits and reports everything, and removes sources with several names.
  package func finish() throws(BatchError) {
    repeat {
      commits.flush()
      try reportSettled()
      // The last proof may allow further links, which make new rows.
    } while reported < waiting.count
    links.removeSources(by: context.commits) {
      warn($0)
    } failed: {
      context.counters.withdrawDone()
      context.report(Problem(.unreadable, $0), severity: .failure)
    }
    for error in outputs.folders.finish() { warn(error) }
  }

  /// Commits the complete outputs in one batch, and counts them.
  package func discard() {
    isStopped = true
    commits.flushLast { targets in
      for target in targets {
        warn(
          BatchError(
            .special, "is complete and waits for the disk; a second signal discards it", path: target))
      }
    }
    // Nothing is reported if an error ended the run.
    while context.cancellation.isFromOutside, reported < waiting.count {
      // Counts do not depend on whether the report can still be delivered.
      try? reportSettled()
      if reported < waiting.count { reported += 1 }
    }
    _ = outputs.folders.finish()
  }

  // MARK: Reports in order

  private func reportSettled() throws(BatchError) {
    while reported < waiting.count {
      switch waiting[reported] {
      case .report(let report): try self.report(report)
      case .problem(let problem, let severity): context.report(problem, severity: severity)
      case .output(let report, let id, let source):
        guard let outcome = commits.outcome(of: id) else { return compact() }
        if case .unwritten(let record, let error) = outcome, let place = retry(report, record, error) {
          kept.insert(place)
          waiting[reported] = .kept(place, record.status.identity)
          return compact()
        }
        try settle(report, outcome, source)
      case .link(let name, let id):
        guard let outcome = commits.outcome(of: id) else { return compact() }
        try settle(name, outcome)
      case .kept: return compact()
      // A link whose commit ends after the last report would not be counted.
      case .nameOfKept where isStopped: return compact()
      case .nameOfKept(let name, let decision):
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
    _ report: Report, _ outcome: CommitResult, _ source: LinkedSource?
  ) throws(BatchError) {
    switch outcome {
    case .committed(let remaining):
      if let source { links.committed(source, isSafe: true) }
      if remaining == nil {
        // An existing output was compared, and not written.
        if report.outcome == .upToDate {
          context.counters.addSkipped(.upToDate)
        } else {
          context.counters.addDone()
        }
      }
      try self.report(report)
      if let remaining { fail(remaining) }
    case .failed(let error), .unwritten(_, let error):
      if let source { links.committed(source, isSafe: false) }
      fail(error)
    case .withoutFirst: break
    }
  }

  private func settle(_ name: HardLinkItem, _ outcome: CommitResult) throws(BatchError) {
    switch outcome {
    case .committed:
      links.linked(name)
      context.counters.addDone()
      try report(Report(source: name.record.path, outcome: .linked(target: name.target)))
    case .withoutFirst: context.counters.addSkipped(.withoutFirst)
    case .failed(let error):
      guard !links.hasFailed(name) else { return context.counters.addSkipped(.withoutFirst) }
      context.report(Problem(.unreadable, error))
    case .unwritten: break
    }
  }

  /// Frees the reported rows, when they are the majority.
  private func compact() {
    guard reported * 2 >= waiting.count else { return }
    if reported == waiting.count {
      waiting.removeAll(keepingCapacity: true)
    } else {
      waiting.removeFirst(reported)
    }
    reported = 0
  }

  /// A source whose output could not be committed, or that could not be removed, counts as failed under every policy.
  private func fail(_ error: BatchError) {
    context.counters.addFailed()
    context.report(Problem(.unreadable, error), severity: .failure)
  }

  private func warn(_ error: BatchError) {
    context.report(Problem(.unreadable, error), severity: .warning)
  }
}
