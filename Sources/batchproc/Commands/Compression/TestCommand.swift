import BatchCore
import BatchEngine
import Synchronization

struct TestCommand: Command {
  private let operands: [PathBytes]
  let session: Session
  /// The shard of a plan that is processed; nil without one.
  private let task: ShardTask?

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: Environment,
    task: ShardTask? = nil
  ) throws(BatchError) {
    self.task = task
    operands = parsed.operands
    session = try Session(common, environment: environment, inputs: task == nil ? 0 : 4) {
      task?.recording($0) ?? $0
    }
  }

  func run() throws(BatchError) -> Ending {
    if let task {
      return try task.run(session, checksFolders: true) { (work) throws(BatchError) in
        test(work, task)
      }
    }
    var walk = try session.walkOptions()
    walk.skipsTemporaries = true
    let operands = Operands(operands, lists: common.fileLists, run: session.context)
    let tree = session.context.tree(operands.counted, options: walk)
    let total = operands.total(walk)
    if common.dryRun {
      return DryRun(session: session, verb: "would test").run(
        over: tree, total: total)
    }
    let (summary, counts) = test(tree, total: total) { _ in }
    return finish(summary, counts)
  }

  private func test(
    _ work: sending ShardTask.Work, _ task: ShardTask
  ) -> ShardTask.Processed {
    let (result, lock, player) = (work.result, work.lock, work.player)
    let counters = session.context.counters
    let tree = session.context.tree { player.next() }
    let (summary, counts) = test(tree, total: task.count) { (finding) throws(BatchError) in
      try result.write(rows: finding.row)
      if let error = finding.error {
        try result.write(Problem(.unreadable, error), severity: .failure)
      }
      lock.note(counters.snapshot, error: nil)
    }
    return ShardTask.Processed(
      summary: summary, ending: finish(summary, counts), findings: counts.findings)
  }

  /// - Parameter record: receives each finding, in tree order.
  private func test(
    _ tree: sending TreeSource, total: ResultOperation<Counters.Snapshot>?,
    record: @escaping @Sendable (TestJob.Finding) throws(BatchError) -> Void
  ) -> (RunSummary, TestCounts) {
    let counts = Mutex(TestCounts())
    let job = TestJob(DecoderOptions(memory: session.context.options.memory)) {
      (findings) throws(BatchError) in
      for finding in findings {
        try tell(finding)
        try record(finding)
        if let damage = finding.damage { session.found(finding.path, damage.message) }
        counts.withLock { $0.add(finding) }
      }
      session.advanced(findings.count)
    }
    let summary = session.run(job, over: tree, total: total).summary
    return (summary, counts.withLock { $0 })
  }

  private func finish(_ summary: RunSummary, _ found: TestCounts) -> Ending {
    if let ending = session.endingOfStopped(summary) { return ending }
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "tested", files: counts.done, bytes: found.size,
        others: found.words + counts.unprocessed,
        tallies: [(found.damaged, "damaged")] + found.gaps.tallies))
    return .exit(found.damaged > 0 ? .differences : ExitStatus(counts))
  }

  private func tell(_ finding: TestJob.Finding) throws(BatchError) {
    if let events = session.events {
      try events.write("file") { line in
        finding.addOutcome(to: &line)
        if let gap = finding.checkGap { line.add(gap) }
      }
    } else if let error = finding.error {
      session.diagnostics.report(error)
    } else if common.verbose {
      let gap = finding.checkGap.map { ", \($0.message)" } ?? ""
      session.diagnostics.print("\(TerminalText.string(finding.path.bytes)): OK\(gap)")
    }
  }
}

/// The counts of a test, in addition to those of every run.
struct TestCounts: Sendable {
  private(set) var damaged = 0
  /// The size of the compressed files in bytes.
  private(set) var size: Int64 = 0
  private(set) var gaps = CheckGapCounts()

  mutating func add(_ finding: TestJob.Finding) {
    if finding.damage != nil { damaged += 1 }
    size.addClamped(finding.size)
    gaps.add(finding.checkGap)
  }

  /// For the summary line.
  var words: [(count: Int, word: String)] { [(damaged, "damaged")] + gaps.words }
}

extension TestCounts {
  /// - Parameter findings: the counts from another value's ``findings``.
  init(_ findings: [String: Int]) {
    damaged = findings["damaged"] ?? 0
    size = Int64(findings["size"] ?? 0)
    gaps = CheckGapCounts(findings)
  }

  var findings: [String: Int] {
    var findings = ["damaged": damaged, "size": Int(clamping: size)]
    for (count, key) in gaps.tallies { findings[key] = count }
    return findings
  }
}

extension TestJob.Finding {
  fileprivate var error: BatchError? {
    damage.map { BatchError(.malformed, $0.message, path: path) }
  }

  /// A line of JSON in the result of a shard.
  fileprivate var row: [UInt8] {
    var row = [UInt8]()
    JSONLine.append(to: &row) { line in
      addOutcome(to: &line)
      if let checkGap { line.add("check", checkGap.word) }
    }
    return row
  }

  fileprivate func addOutcome(to line: inout JSONLine) {
    line.add(path: path)
    line.add("outcome", damage.map(\.kind.rawValue) ?? "whole")
    if let damage { line.add("offset", damage.offset) }
  }
}
