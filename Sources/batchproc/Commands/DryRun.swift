import BatchCore
import BatchEngine

/// Lists the files that a run would process, and processes nothing.
struct DryRun {
  let session: Session
  let verb: String
  var isNULEnded = false

  /// - Parameter name: the name to show for a file; nil for one that would be skipped.
  func run<Source: BatchSource<WalkItem>>(
    over source: sending Source, total: ResultOperation<Counters.Snapshot>? = nil,
    name: @escaping @Sendable (FileRecord) throws(BatchError) -> PathBytes? = { $0.path }
  ) -> Ending where Source.Row == Never {
    let results = ResultWriter(session)
    let job = ListJob(name: name) { [isNULEnded] (path, bytes) in
      results.append(name: path, isNULEnded: isNULEnded, to: &bytes)
    } output: { (rows) throws(BatchError) in
      try results.write(rows)
    }
    let summary = session.run(job, over: source, total: total).summary
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: verb, files: counts.done, bytes: counts.byteCount,
        others: counts.unprocessed))
    return .exit(ExitStatus(counts))
  }
}
