import BatchCore
import BatchEngine

extension MergeCommand {
  func summarize(_ results: ShardResults, _ outcome: ShardOutcome) {
    let counts = counts(of: outcome)
    var merged = planned.command.merged(tally(of: outcome))
    if case .archive = division.join { merged.files = tally.files }
    if !planned.parsed.flag(.status) {
      merged.warnings.forEach { session.diagnostics.report($0, as: .warning) }
    }
    let outcomes = results.outcomes
    let count = outcomes.count { $0 != nil }
    session.reporter.summary(
      RunSummary(counts: counts, stopped: nil, elapsed: .zero),
      text: SummaryText(
        verb: "merged", files: merged.files, bytes: outcome.counts.byteCount,
        kinds: tally.kinds,
        others: [(count, count == 1 ? "shard" : "shards")] + merged.words + [
          (outcome.counts.changed, "changed meanwhile"), (counts.skipped, "skipped"),
          (outcome.counts.failed, "failed"),
        ], showsRate: false))
    guard !common.quiet else { return }
    let slowest = outcomes.enumerated().compactMap { index, outcome in
      outcome.map { (index, $0) }
    }.max { $0.1.milliseconds < $1.1.milliseconds }
    if let (index, slow) = slowest, plan.shards.count > 1 {
      let time = DurationText.text(seconds: Double(slow.milliseconds) / 1000)
      let share = Int((plan.imbalance * 1000).rounded())
      let name = TerminalText.string(Array(slow.node.utf8))
      session.diagnostics.print(
        "slowest: shard \(index) on \(name) in \(time); the largest range is \(share / 1000).\(String(share % 1000 + 1000).dropFirst()) of the mean"
      )
    }
    let failed = outcomes.enumerated().compactMap { index, outcome in
      (outcome?.counts.failed ?? 0) > 0 ? String(index) : nil
    }
    if !failed.isEmpty {
      session.diagnostics.print("shards with files that failed: " + failed.joined(separator: ", "))
    }
  }

  /// The sums of all shards, as one run would have them.
  func tally(of outcome: ShardOutcome) -> CallTally {
    CallTally(counts(of: outcome), paths: plan.operandCount, findings: outcome.findings)
  }

  func counts(of outcome: ShardOutcome) -> Counters.Snapshot {
    var counts = outcome.counts
    counts.seen += plan.filtered
    counts.skipped += plan.filtered
    if outcome.needless > 0 { counts.reasons[.kept] = outcome.needless }
    return counts
  }
}
