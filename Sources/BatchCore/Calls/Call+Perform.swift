import BatchEngine
import BatchOutputs

/// Follows a call while it runs.
package protocol CallWatch {
  /// - Parameter total: counts the work, if that is possible; it is not started.
  func begins(_ total: ResultOperation<Counters.Snapshot>?)
  func ends(_ summary: RunSummary)
}

/// For a call that is a step of another run.
package struct Unwatched: CallWatch {
  package init() {}
  package func begins(_ total: ResultOperation<Counters.Snapshot>?) {}
  package func ends(_ summary: RunSummary) {}
}

/// How a call ended.
package struct CallOutcome<Result: CallResult> {
  /// The counts include those of completing the outputs.
  package let summary: RunSummary
  /// Nil for a run that was stopped.
  package let result: Result?
  package let verdict: CallVerdict
  /// Why the outputs could not be completed; they were discarded.
  package var failure: BatchError?
}

extension Call {
  /// Prepares the call, runs its job, and completes its outputs; discards them if the run was stopped, came to nothing, or if
  /// they cannot be completed.
  ///
  /// Blocks the thread that calls it.
  ///
  /// - Throws: why the run could not begin.
  package func perform(
    _ input: CallInput, in run: RunContext, watchedBy watch: some CallWatch,
    report: @escaping @Sendable (Report) throws(BatchError) -> Void
  ) throws(BatchError) -> CallOutcome<Result> {
    let prepared = try prepare(input, in: run, report: report)
    watch.begins(prepared.total)
    let outcome = prepared.run(BatchRunner(run))
    watch.ends(outcome.summary)
    guard let makeResult = outcome.result else {
      prepared.discard()
      return CallOutcome(summary: outcome.summary, result: nil, verdict: [])
    }
    do throws(BatchError) {
      var result = try makeResult()
      let verdict = verdict(
        CallTally(run.counters.snapshot, paths: input.pathCount, findings: result.findings))
      if verdict.contains(.nothing) {
        prepared.discard()
      } else {
        try prepared.complete(&result)
      }
      return CallOutcome(summary: outcome.summary.counting(run), result: result, verdict: verdict)
    } catch {
      prepared.discard()
      return CallOutcome(
        summary: outcome.summary.counting(run, stopped: error.code == .cancelled ? error : nil), result: nil,
        verdict: [], failure: error)
    }
  }
}

extension RunSummary {
  /// The same summary with the present counts.
  fileprivate func counting(_ run: RunContext, stopped: BatchError? = nil) -> RunSummary {
    RunSummary(
      counts: run.counters.snapshot, stopped: self.stopped ?? stopped, elapsed: elapsed,
      concurrency: concurrency, leavesItems: leavesItems)
  }
}

extension BatchOptions {
  /// Changes the options as a call needs it, and gives it its share of the descriptors.
  ///
  /// - Throws: `exhausted` when there are too few descriptors.
  package mutating func setApart<C: Call>(for call: inout C) throws(BatchError) {
    let needs = try call.limits
    if let stride = needs.stride { self.stride = stride }
    if needs.isSerial {
      isSerial = true
      concurrency = 1
      mostConcurrency = nil
    }
    mostLanes = needs.mostLanes
    if needs.isFixed, mostConcurrency != nil {
      concurrency = max(1, Int(processors.rounded(.up)))
      mostConcurrency = nil
    }
    setApart(needs.inputs)
    try call.share(&self)
    if var outputs = call.outputs {
      try shareDescriptors(with: &outputs)
      call.outputs = outputs
    }
  }
}
