import BatchEngine

/// Compares two of a folder, a manifest, a snapshot and an archive.
package struct AuditCall: Call {
  package enum Sides {
    /// - Parameters:
    ///   - parts: names of the first side that are compared; nil for all.
    ///   - aligns: whether the names of both sides may begin in different folders.
    ///   - walk: the walk below folders.
    case pair(Comparand, Comparand, parts: [PathBytes]?, aligns: Bool, walk: WalkOptions)
    /// What is at two paths, unencrypted.
    case paths(PathBytes, PathBytes, walk: WalkOptions)
    /// Files of a snapshot and the places where they are.
    case files(AuditSource, LiveTree)
  }

  private let sides: Sides

  package init(_ sides: Sides) { self.sides = sides }

  package var limits: CallLimits { CallLimits(inputs: 1) }

  package struct Result: CallResult {
    package let tally: AuditJob.Tally
    /// How many paths of both sides could not be read before the comparison; they were reported.
    package let unread: Int
    /// How the names of both sides correspond; nil for the files of a snapshot.
    package let preparation: AuditPreparation?

    package var findings: [String: Int] {
      ["same": tally.same, "different": tally.counts.values.reduce(0, +), "unread": unread]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    func count(_ finding: String) -> Int { tally.findings[finding] ?? 0 }
    let failed = tally.counts.failed + count("unread")
    return CallVerdict()
      .adding(.differences, if: count("different") > 0)
      .adding(.nothing, if: count("different") == 0 && count("same") == 0 && failed > 0)
      .adding(.someFailed, if: failed > 0)
  }

  /// - Throws: the errors of opening both sides; `malformed` for one that is damaged; `invalid` if they have digests of different
  ///   algorithms, and if one of two paths is a folder of snapshots.
  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable ([AuditJob.Finding]) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    switch sides {
    case .paths(let first, let second, let walk):
      let context = SourceContext(run)
      let first = try Comparand(first, keys: nil, in: context)
      let second = try Comparand(second, keys: nil, in: context)
      if let set = Comparand.setFolder(of: first, second, in: run) {
        throw BatchError(
          .invalid, "is a directory of snapshots", path: set,
          remedy: "compare the manifest of one of its snapshots")
      }
      let pair = Sides.pair(
        first, second, parts: nil, aligns: true, walk: walk.comparing(first, second))
      return try AuditCall(pair).prepare(input, in: run, report: report)
    case .pair(let first, let second, let parts, let aligns, let walk):
      let preparation = try AuditPreparation.prepare(
        first, second, parts: parts, aligns: aligns, walk: walk, in: run)
      return Prepared(
        AuditJob(preparation.target, output: report), over: try preparation.source(in: run), total: nil
      ) { Result(tally: $0, unread: preparation.failed, preparation: preparation) }
    case .files(let source, let live):
      return Prepared(AuditJob(.live(live), output: report), over: source, total: nil) {
        Result(tally: $0, unread: 0, preparation: nil)
      }
    }
  }
}
