import BatchEngine

/// What the result of a call means, as a set of findings.
package struct CallVerdict: OptionSet, Sendable, Hashable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Some inputs could not be processed.
  package static let someFailed = CallVerdict(rawValue: 1 << 0)
  /// Nothing usable was produced, although there was something to process.
  package static let nothing = CallVerdict(rawValue: 1 << 1)
  /// Something is not as it was recorded.
  package static let differences = CallVerdict(rawValue: 1 << 2)
  /// A part of an output is missing.
  package static let incomplete = CallVerdict(rawValue: 1 << 3)
  /// A budget of time or bytes was reached before the end.
  package static let budgetReached = CallVerdict(rawValue: 1 << 4)

  /// The verdict of a run over files: nothing if paths were given and each of them is missing or could not be read.
  package init(_ counts: Counters.Snapshot) {
    self = counts.failed > 0 ? .someFailed : []
    if counts.failed > 0, counts.isNothing, counts.unavailable == counts.failed { insert(.nothing) }
  }

  /// The same set, with a finding if a condition holds.
  package func adding(_ finding: CallVerdict, if holds: Bool) -> CallVerdict { holds ? union(finding) : self }
}

/// The counts from which a call makes its verdict.
package struct CallTally: Sendable {
  package var counts: Counters.Snapshot
  /// The number of paths that were given; nil for one part of a divided job.
  package var paths: Int?
  /// The counts of ``CallResult/findings``.
  package var findings: [String: Int]

  package init(_ counts: Counters.Snapshot, paths: Int?, findings: [String: Int] = [:]) {
    (self.counts, self.paths, self.findings) = (counts, paths, findings)
  }
}

extension Counters.Snapshot {
  /// Whether no path was processed or found to need no work.
  package var isNothing: Bool { done == 0 && needless == 0 }

  /// Skipped paths that need no work.
  package var needless: Int {
    let processed: [SkipReason] = [.upToDate, .compressedAlready, .notSmaller, .kept, .repeated]
    return processed.reduce(0) { $0 + (reasons[$1] ?? 0) }
  }
}
