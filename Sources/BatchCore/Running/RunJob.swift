import BatchEngine
import BatchOutputs

/// Runs a command for each file of a tree.
///
/// A lane prepares a child and returns; the child executes without a lane. When the kernel reports its end, the collector is asked
/// for an item, with which a lane takes the output of the child.
package struct RunJob: BatchJob {
  package typealias Item = RunItem

  private let options: CommandOptions
  private let asked: AskedItems<RunItem>?
  private let program: PathBytes?
  private let commits: any CommitCalls
  private let report: RunCollector.Report

  /// - Parameters:
  ///   - program: the file of the program; nil if it depends on the file.
  ///   - report: receives each child and each file without one, in tree order.
  package init(
    _ options: CommandOptions, program: PathBytes?, asked: AskedItems<RunItem>?,
    commits: any CommitCalls = LinuxCommitCalls(), report: @escaping RunCollector.Report
  ) {
    (self.options, self.program, self.asked) = (options, program, asked)
    (self.commits, self.report) = (commits, report)
  }

  package var descriptors: Int {
    options.kind == .passedOn ? DescriptorBudget.tokensToRead : options.outputs.descriptorsOfLane
  }

  package func makeShared(in context: CollectorContext) throws(BatchError) -> RunChildren {
    var options = options
    let mark = try options.mark()
    options.outputs.command = mark
    return try RunChildren(
      options, mark: mark, program: program, asked: asked,
      stage: OutputStage(options.outputs, commits, in: context), in: context)
  }

  package func makeWorker(in context: WorkerContext, sharing children: RunChildren) -> RunWorker {
    RunWorker(children)
  }

  package func makeCollector(
    in context: CollectorContext, sharing children: RunChildren
  ) -> sending RunCollector {
    RunCollector(children, asked: asked, in: context, report: report)
  }
}

/// Reports children in tree order, and gives their outputs their names.
package final class RunCollector: BatchCollector {
  package typealias Report = @Sendable (CommandReport) throws(BatchError) -> Void
  private typealias Place = OutputCollector<CommandReport>.Place

  private let context: CollectorContext
  private let children: RunChildren
  private let asked: AskedItems<RunItem>?
  private let rows: OutputCollector<CommandReport>
  private let tally: Tally
  /// Children whose start was collected, and whose end was not.
  private var running = 0
  /// Children whose end was collected before their start.
  private var early: [Place: RunRow] = [:]

  /// The state that rows change when they are reported.
  private final class Tally {
    var counts = RunCounts()
  }

  init(
    _ children: RunChildren, asked: AskedItems<RunItem>?, in context: CollectorContext,
    report: @escaping Report
  ) {
    (self.children, self.asked, self.context) = (children, asked, context)
    let tally = Tally()
    self.tally = tally
    let most = children.options.mostFailures
    rows = OutputCollector(children.stage, in: context) { (row) throws(BatchError) in
      tally.counts.add(row)
      try report(row)
      if let most, tally.counts.failed >= most { children.startNoMore() }
    }
  }

  package var collectsAfterStop: Bool { true }

  package func collect(_ output: [RunRow]) throws(BatchError) {
    for row in output { take(row) }
    try rows.settle()
  }

  private func take(_ row: RunRow) {
    switch row {
    case .settled(let report): rows.add(report, of: nil)
    case .started(let child):
      guard let file = child.files.first else { return }
      rows.keep(ObjectIdentifier(child), for: file.record)
      running += 1
      if let end = early.removeValue(forKey: ObjectIdentifier(child)) { take(end) }
    case .ended(let child, let report):
      guard rows.isKept(ObjectIdentifier(child)) else { return early[ObjectIdentifier(child)] = row }
      running -= 1
      guard case .failed(let error) = report.result else {
        return rows.fill(ObjectIdentifier(child), with: report, of: nil, isCounted: true)
      }
      rows.fill(ObjectIdentifier(child), with: report, failed: error, count: report.files)
    case .output(let child, let report, let output, let remark):
      guard rows.isKept(ObjectIdentifier(child)) else { return early[ObjectIdentifier(child)] = row }
      running -= 1
      rows.fill(ObjectIdentifier(child), with: report, output, after: remark)
    }
  }

  package func hold(_ problem: Problem, severity: Severity) -> Bool { rows.hold(problem, severity: severity) }

  package func checkpoint() throws(BatchError) { try rows.checkpoint() }

  package func requestMore() throws(BatchError) -> Bool {
    guard running > 0, let asked else { return false }
    asked.ask(.nextEnded)
    return true
  }

  package func finish() throws(BatchError) -> RunCounts {
    children.stop()
    try rows.finish()
    return tally.counts
  }

  package func discard() {
    children.stop()
    rows.discard()
  }
}
