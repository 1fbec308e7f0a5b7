import BatchEngine

/// Compares a record with a folder, and reports what was moved or copied.
package struct AuditJob: BatchJob {
  package typealias Item = AuditItem

  /// The result for one path.
  package struct Finding: Sendable {
    package let path: PathBytes
    /// Nil if the path is as recorded.
    package var difference: Difference?
    /// The recorded path of content that was moved or copied.
    package var origin: PathBytes?
    /// The recorded digest, or the digests of a new file, one of which may have the recorded algorithm.
    fileprivate var digests: [[UInt8]] = []
  }

  /// How many paths have each class of difference, and how many are as recorded.
  package struct Tally: Sendable {
    package fileprivate(set) var same = 0
    package fileprivate(set) var counts: [Difference.Class: Int] = [:]
    /// How many paths the record has, and how many the other side has.
    package fileprivate(set) var recorded = 0
    package fileprivate(set) var other = 0

    package var isDifferent: Bool { !counts.isEmpty }
  }

  private let target: AuditTarget
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameter output: receives findings in the order of the record; missing, moved, copied and new paths come last.
  package init(
    _ target: AuditTarget, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.target = target
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> Worker {
    let digests = DigestPool(concurrency: context.concurrencyLimit)
    return switch target {
    case .live(let live): Worker(LiveComparison(live, reportsRot: true), nil, digests)
    case .tree(let tree): Worker(nil, tree, digests)
    }
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
    Collector(output)
  }

  /// Compares paths, and hashes new files.
  package final class Worker: BatchWorker {
    /// Nil if a record is compared with another record.
    private let comparison: LiveComparison?
    private let tree: RecordedTree?
    private let digests: DigestPool

    init(_ comparison: LiveComparison?, _ tree: RecordedTree?, _ digests: DigestPool) {
      self.comparison = comparison
      self.tree = tree
      self.digests = digests
    }

    package func process(
      _ item: AuditItem, in context: WorkerContext, into output: inout [Finding]
    ) throws(BatchError) {
      try context.checkCancellation()
      switch item {
      case .record(let record, let others): try compare(record, with: others, in: context, into: &output)
      case .newRecord(let record):
        context.finish()
        output.append(
          Finding(path: record.path, difference: Difference(.new), digests: Self.digests(of: record)))
      case .new(let path, let record, let algorithms):
        var finding = Finding(path: path, difference: Difference(.new))
        if algorithms.isEmpty {
          context.finish()
        } else {
          let found = try digests.read(algorithms) { (set) throws(BatchError) in
            try context.read(record) {
              set.reset()
            } consume: { (piece) throws(BatchError) in
              try set.update(piece)
            }
          }
          guard let found else { return }
          finding.digests = found.map(\.bytes)
        }
        output.append(finding)
      }
    }

    private func compare(
      _ record: RecordedPath, with others: [Digest], in context: WorkerContext, into output: inout [Finding]
    ) throws(BatchError) {
      var difference: Difference?
      if let tree {
        difference = Self.difference(of: record, others, in: tree)
      } else if let comparison {
        guard case .compared(let found) = try comparison.compare(record, in: context) else { return }
        difference = found
        for other in others where difference?.aspects.first?.name == .content {
          var again = record
          again.digest = other
          guard case .compared(let second) = try comparison.compare(again, in: context) else { return }
          if second?.aspects.first?.name != .content { difference = second }
        }
      }
      context.finish()
      output.append(Finding(path: record.path, difference: difference, digests: Self.digests(of: record)))
    }

    /// The digests of a file with content, which find it under another name.
    private static func digests(of record: RecordedPath) -> [[UInt8]] {
      record.size == 0 ? [] : record.digest.map { [$0.bytes] } ?? []
    }

    private static func difference(
      of record: RecordedPath, _ others: [Digest], in tree: RecordedTree
    ) -> Difference? {
      guard let place = try? RelativePath(record.path), let other = tree[place.bytes] else {
        return Difference(.missing)
      }
      var record = record
      // If the length of a digest fits several algorithms, it has the algorithm of the other side.
      if let algorithm = other.digest?.algorithm, record.digest?.algorithm != algorithm {
        record.digest = others.first { $0.algorithm == algorithm }
      }
      let isSeparate = record.firstName.map { tree.hasAllKinds && !tree.areOneFile(record.path, $0) } ?? false
      return record.difference(to: other, isSeparate: isSeparate, reportsRot: true)
    }
  }

  /// Decides, after all paths are known, whether missing files were moved.
  package final class Collector: BatchCollector {
    private let output: @Sendable ([Finding]) throws(BatchError) -> Void
    private var tally = Tally()
    private var missing: [Finding] = []
    private var new: [Finding] = []
    /// Names of recorded files that exist, by the beginnings of their digests.
    private var present: [UInt64: PathBytes] = [:]

    init(_ output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void) {
      self.output = output
    }

    package func collect(_ findings: [Finding]) throws(BatchError) {
      var done = [Finding]()
      for finding in findings {
        switch finding.difference?.kind {
        case .missing:
          tally.recorded += 1
          missing.append(finding)
        case .new:
          tally.other += 1
          new.append(finding)
        case let kind:
          tally.recorded += 1
          tally.other += 1
          // A changed file has other content now.
          if let digest = finding.digests.first, kind == nil || kind == .touched || kind == .metadata {
            present[Self.key(of: digest)] = finding.path
          }
          done.append(finding)
        }
      }
      try report(done)
    }

    package func finish() throws(BatchError) -> Tally {
      var lost: [[UInt8]: [Int]] = [:]
      for (index, finding) in missing.enumerated().reversed() {
        for digest in finding.digests { lost[digest, default: []].append(index) }
      }
      var found: Set<Int> = []
      var arrived = [Finding]()
      for var finding in new {
        for digest in finding.digests where finding.origin == nil {
          if let index = lost[digest]?.popLast() {
            found.insert(index)
            finding.difference = Difference(.moved)
            finding.origin = missing[index].path
          } else if let origin = present[Self.key(of: digest)] {
            finding.difference = Difference(.copied)
            finding.origin = origin
          }
        }
        arrived.append(finding)
      }
      try report(missing.indices.filter { !found.contains($0) }.map { missing[$0] })
      try report(arrived)
      return tally
    }

    private func report(_ findings: [Finding]) throws(BatchError) {
      for finding in findings {
        if let kind = finding.difference?.kind {
          tally.counts[kind, default: 0] += 1
        } else {
          tally.same += 1
        }
      }
      if !findings.isEmpty { try output(findings) }
    }

    private static func key(of digest: [UInt8]) -> UInt64 {
      digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
  }
}
