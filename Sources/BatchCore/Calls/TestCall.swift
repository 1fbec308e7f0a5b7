import BatchEngine
import Synchronization

/// Decodes compressed files to test whether they are undamaged.
package struct TestCall: Call {
  package init() {}

  package var division: Division? {
    var division = Division(unit: .files(), join: .receipts)
    division.skipsTemporaries = true
    return division
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    CallVerdict(tally.counts).adding(.differences, if: TestCounts(tally.findings).damaged > 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable ([TestJob.Finding]) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<TestCounts> {
    let (tree, total) = try input.tree(in: run) { $0.skipsTemporaries = true }
    let counts = Mutex(TestCounts())
    let job = TestJob(DecoderOptions(run.options)) { (findings) throws(BatchError) in
      try report(findings)
      counts.withLock { counts in for finding in findings { counts.add(finding) } }
    }
    return Prepared(job, over: tree, total: total) { _ in counts.withLock { $0 } }
  }
}

/// The counts of a test, in addition to those of every run.
package struct TestCounts: CallResult {
  package private(set) var damaged = 0
  /// The size of the compressed files in bytes.
  package private(set) var size: Int64 = 0
  package private(set) var gaps = CheckGapCounts()

  package init() {}

  mutating func add(_ finding: TestJob.Finding) {
    if finding.damage != nil { damaged += 1 }
    size.addClamped(finding.size)
    gaps.add(finding.checkGap)
  }
}

extension TestCounts {
  /// - Parameter findings: the counts from another value's ``findings``.
  package init(_ findings: [String: Int]) {
    damaged = findings["damaged"] ?? 0
    size = Int64(findings["size"] ?? 0)
    gaps = CheckGapCounts(findings)
  }

  package var findings: [String: Int] {
    var findings = ["damaged": damaged, "size": Int(clamping: size)]
    for (count, key) in gaps.tallies { findings[key] = count }
    return findings
  }
}

/// How many files were read whose content could not be compared with a checksum.
package struct CheckGapCounts: Sendable {
  package private(set) var withoutChecksum = 0
  package private(set) var unverified = 0

  package init() {}

  /// - Parameter tallies: the counts from another value's ``tallies``.
  package init(_ tallies: [String: Int]) {
    withoutChecksum = tallies["no_checksum"] ?? 0
    unverified = tallies["check_unverified"] ?? 0
  }

  package mutating func add(_ gap: CheckGap?) {
    switch gap {
    case .noChecksum: withoutChecksum += 1
    case .xzCheck: unverified += 1
    case nil: break
    }
  }

  /// By their names in JSON.
  package var tallies: [(count: Int, key: String)] {
    [(withoutChecksum, "no_checksum"), (unverified, "check_unverified")]
  }
}
