import BatchEngine

/// Searches snapshots for paths.
package struct SearchCall: Call {
  private let search: PathSearch
  private let open: (RunContext) throws(BatchError) -> Sets

  /// - Parameter open: opens the sets; called once.
  package init(_ search: PathSearch, in open: @escaping (RunContext) throws(BatchError) -> Sets) {
    (self.search, self.open) = (search, open)
  }

  /// What is searched.
  package struct Sets {
    /// Each set with its snapshots, the oldest first.
    package var found: [(set: BackupSet, snapshots: [Snapshot])] = []
    /// How many snapshots cannot be searched because their manifests are damaged; they were reported.
    package var damaged = 0

    package init() {}
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
    let sets = try open(run)
    let job = SnapshotSearchJob(search, in: SourceContext(run), output: report)
    return Prepared(job, over: SnapshotSearchSource(sets.found), total: nil) {
      Result(found: $0, damaged: sets.damaged)
    }
  }
}
