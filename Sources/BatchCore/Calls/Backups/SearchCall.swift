import BatchEngine

/// Searches snapshots for paths.
package struct SearchCall: Call {
  private let search: PathSearch
  private let sets: [(set: BackupSet, snapshots: [Snapshot])]
  /// How many snapshots cannot be searched because their manifests are damaged; they were reported.
  private let damaged: Int

  /// - Parameter sets: each with its snapshots, the oldest first.
  package init(
    _ search: PathSearch, in sets: [(set: BackupSet, snapshots: [Snapshot])], damaged: Int = 0
  ) {
    (self.search, self.sets, self.damaged) = (search, sets, damaged)
  }

  /// Each manifest is an operation of its own.
  package var limits: CallLimits { CallLimits(stride: .fixed(1)) }

  package struct Result: CallResult {
    /// How many paths were found; each counts once for each snapshot.
    package let found: Int
    package let damaged: Int

    package var findings: [String: Int] { ["found": found, "damaged": damaged] }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    let failed = tally.counts.failed + (tally.findings["damaged"] ?? 0)
    return CallVerdict()
      .adding(.nothing, if: failed > 0 ? tally.counts.done == 0 : tally.findings["found"] == 0)
      .adding(.someFailed, if: failed > 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable ([FoundPath]) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let job = SnapshotSearchJob(search, in: SourceContext(run), output: report)
    return Prepared(job, over: SnapshotSearchSource(sets), total: nil) {
      Result(found: $0, damaged: damaged)
    }
  }
}
