import BatchCore
import BatchEngine
import Synchronization

/// `batchproc test`.
struct TestCommand: Command {
  private let common: CommonOptions
  private let operands: [PathBytes]
  let session: Session

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws(BatchError) {
    self.common = common
    operands = parsed.operands
    session = try Session(common, environment: environment)
  }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending {
    var walk = try session.walkOptions()
    walk.skipsTemporaries = true
    let operands = Operands(operands, lists: common.fileLists, run: session.context)
    let tree = session.context.tree(operands.counted, options: walk)
    let total =
      operands.isRepeatable
      ? CountingWalk.operation(operands, options: walk, run: session.context) : nil
    if common.dryRun {
      return DryRun(session: session, verb: "would test").run(
        over: tree, total: total)
    }
    let damaged = Mutex(0)
    let size = Mutex<Int64>(0)
    let gaps = Mutex(CheckGapCounts())
    let job = TestJob(DecoderOptions(memory: session.context.options.memory)) {
      (findings) throws(BatchError) in
      for finding in findings {
        try tell(finding)
        if let damage = finding.damage {
          damaged.withLock { $0 += 1 }
          session.found(finding.path, damage.message)
        }
        size.withLock { $0 += finding.size }
        gaps.withLock { $0.add(finding.checkGap) }
      }
      session.advanced(findings.count)
    }
    let summary = session.run(job, over: tree, total: total).summary
    if let ending = session.endingOfStopped(summary) { return ending }
    let counts = summary.counts
    let bad = damaged.withLock { $0 }
    let unchecked = gaps.withLock { $0 }
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "tested", files: counts.done, bytes: size.withLock { $0 },
        others: [(bad, "damaged")] + unchecked.words + [
          (counts.skipped, counts.skippedWord), (counts.failed, "failed"),
        ],
        tallies: [(bad, "damaged")] + unchecked.tallies))
    return .exit(bad > 0 ? .differences : ExitStatus(counts))
  }

  private func tell(_ finding: TestJob.Finding) throws(BatchError) {
    if let events = session.reporter as? JSONReporter {
      try events.write("file") { line in
        line.add(path: finding.path)
        line.add("outcome", finding.damage.map(\.kind.rawValue) ?? "whole")
        if let damage = finding.damage { line.add("offset", damage.offset) }
        if let gap = finding.checkGap { line.add(gap) }
      }
    } else if let damage = finding.damage {
      session.diagnostics.report(BatchError(.malformed, damage.message, path: finding.path))
    } else if common.verbose {
      let gap = finding.checkGap.map { ", \($0.message)" } ?? ""
      session.diagnostics.print("\(TerminalText.string(finding.path.bytes)): OK\(gap)")
    }
  }
}
