import BatchCore
import BatchEngine

struct TestCommand: DividedCommand {
  private let operands: [PathBytes]
  private var call: TestCall
  private let shard: ShardTask?
  let session: Session

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) -> TestCall { TestCall() }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    self.shard = shard
    operands = parsed.operands
    call = TestCall()
    session = try Session(common, environment: environment, for: &call, shard: shard)
  }

  func run() throws(BatchError) -> Ending {
    if let shard {
      return try shard.run(call, in: session) { (findings, result) throws(BatchError) in
        try tell(findings)
        for finding in findings {
          try result.write(rows: finding.row)
          if let error = finding.error {
            try result.write(Problem(.unreadable, error), severity: .failure)
          }
        }
      } finish: {
        finish($0)
      }
    }
    let operands = session.operands(operands)
    var walk = try session.walkOptions()
    if common.dryRun {
      walk.skipsTemporaries = true
      return try DryRun(session: session, verb: "would test").run(operands, walk)
    }
    return finish(try session.run(call, .paths(operands, walk), report: tell))
  }

  private func finish(_ outcome: CallOutcome<TestCounts>) -> Ending {
    session.ending(outcome) { found in
      let counts = outcome.summary.counts
      return SummaryText(
        verb: shard?.verb("tested") ?? "tested", files: counts.done, bytes: found.size,
        others: found.words + counts.unprocessed,
        tallies: [(found.damaged, "damaged")] + found.gaps.tallies)
    }
  }

  static func merged(_ tally: CallTally) -> MergedCounts {
    MergedCounts(files: tally.counts.done, words: TestCounts(tally.findings).words)
  }

  private func tell(_ findings: [TestJob.Finding]) throws(BatchError) {
    for finding in findings {
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
      if let damage = finding.damage { session.found(finding.path, damage.message) }
    }
    session.advanced(findings.count)
  }
}

extension TestCounts {
  /// For the summary line.
  var words: [(count: Int, word: String)] { [(damaged, "damaged")] + gaps.words }
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
