import BatchCore
import BatchEngine

extension MergeCommand {
  /// Completes a divided mirror: names across shards, the metadata of folders, and the manifest.
  func join(
    _ results: ShardResults, of call: MirrorCall, _ outcome: inout ShardOutcome, to stream: any ResultStream
  ) throws(BatchError) {
    try WorkingFolder.enter(plan.workingFolder)
    let session = session
    let writesRows = writesRows
    var merge = try MirrorMerge(into: call.target, call.options, in: session.context) {
      (row) throws(BatchError) in
      if writesRows { try stream.write(row) }
    } failed: {
      session.reporter.met(Problem(.unreadable, $0), severity: .failure)
    }
    try results.forEachRow { (rows) throws(BatchError) in
      try session.cancellation.check()
      try merge.add(rows)
    } problem: { (problem, severity) in
      session.reporter.met(problem, severity: severity)
    }
    try merge.finish()
    outcome.counts.done -= min(merge.failures, outcome.counts.done)
    outcome.counts.failed += merge.failures
  }
}
