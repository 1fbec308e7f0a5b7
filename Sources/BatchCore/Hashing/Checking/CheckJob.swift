import BatchEngine

/// Verifies the entries of manifests: reads each file once and compares its digests.
package struct CheckJob: BatchJob {
  package typealias Item = CheckItem

  private let ignoresMissing: Bool
  private let render: @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
  private let output: @Sendable (CheckedChunk) throws(BatchError) -> Void

  /// - Parameters:
  ///   - ignoresMissing: files that are not there are neither reported nor counted as missing.
  ///   - render: appends what is to be shown of an entry; on many threads at once.
  ///   - output: takes results; one call at a time, in the manifest's order.
  package init(
    ignoresMissing: Bool,
    render: @escaping @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void,
    output: @escaping @Sendable (CheckedChunk) throws(BatchError) -> Void
  ) {
    self.ignoresMissing = ignoresMissing
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext) -> Worker {
    Worker(DigestPool(concurrency: context.concurrencyLimit), ignoresMissing: ignoresMissing, render)
  }

  package func makeCollector(in context: CollectorContext) -> sending Collector { Collector(output) }

  /// Reads files and compares digests.
  package final class Worker: BatchWorker {
    private let digests: DigestPool
    private let ignoresMissing: Bool
    private let render: @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
    /// The algorithm that a row of an unknown one turned out to be of.
    private var matched: DigestAlgorithm?

    init(
      _ digests: DigestPool, ignoresMissing: Bool,
      _ render: @escaping @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
    ) {
      self.digests = digests
      self.ignoresMissing = ignoresMissing
      self.render = render
    }

    package func process(
      _ item: CheckItem, in context: WorkerContext, into output: inout CheckedChunk
    ) throws(BatchError) {
      switch item {
      case .file(let entry, let record): add(entry, try check(entry, record, in: context), to: &output)
      case .standardInput(let entry):
        add(entry, try checkStandardInput(entry, in: context), to: &output)
      case .unavailable(let entry, let error):
        let isMissing = error.code == .missing
        if isMissing, ignoresMissing {
          context.skip(.ignored)
          output.append(.ignored)
        } else {
          context.report(Problem(isMissing ? .missing : .unreadable, error))
          add(entry, isMissing ? .missing : .unreadable, to: &output)
        }
      case .malformed(let error):
        context.report(Problem(.malformed, error))
        output.append(.malformed)
      case .text(let error):
        context.skip(.text)
        output.append(.text(error))
      case .unreadable(let problem):
        context.report(problem)
        output.append(.unreadableManifest)
      }
    }

    private func add(_ entry: ManifestEntry, _ outcome: CheckOutcome, to output: inout CheckedChunk) {
      output.append(outcome == .differs ? .different(entry.path) : .entry(outcome)) {
        render(entry, outcome, &$0)
      }
    }

    private func check(
      _ entry: ManifestEntry, _ record: FileRecord, in context: WorkerContext
    ) throws(BatchError) -> CheckOutcome {
      var readings = [entry.digests] + entry.otherReadings.map { [$0] }
      // Rows of one manifest are mostly of one algorithm: what matched last is tried first.
      if let place = readings.firstIndex(where: { $0.count == 1 && $0[0].algorithm == matched }) {
        readings.insert(readings.remove(at: place), at: 0)
      }
      guard let found = try read(record, readings[0].map(\.algorithm), in: context) else {
        return .unreadable
      }
      if found == readings[0] { return .matches }
      for reading in readings.dropFirst() {
        let other = try digests.read(reading.map(\.algorithm)) { (set) throws(BatchError) in
          try context.reread(record) {
            set.reset()
          } consume: { (piece) throws(BatchError) in
            try set.update(piece)
          }
        }
        if other == reading {
          matched = reading.first?.algorithm
          return .matches
        }
      }
      return .differs
    }

    private func read(
      _ record: FileRecord, _ algorithms: [DigestAlgorithm], in context: WorkerContext
    ) throws(BatchError) -> [Digest]? {
      if algorithms == [.blake3], record.status.size >= Blake3File.threshold,
        let digest = try Blake3File.digest(of: record, in: context)?.digest
      {
        context.finish()
        return [digest]
      }
      return try digests.read(algorithms) { (set) throws(BatchError) in
        try context.read(record) {
          set.reset()
        } consume: { (piece) throws(BatchError) in
          try set.update(piece)
        }
      }
    }

    private func checkStandardInput(
      _ entry: ManifestEntry, in context: WorkerContext
    ) throws(BatchError) -> CheckOutcome {
      let found = try digests.read(entry.digests.map(\.algorithm)) { (set) throws(BatchError) in
        set.reset()
        let isRead = try context.readStandardInput { (piece) throws(BatchError) in try set.update(piece) }
        return isRead ? true : nil
      }
      guard let found else { return .unreadable }
      return found == entry.digests ? .matches : .differs
    }
  }

  /// Counts outcomes and hands rows on.
  package final class Collector: BatchCollector {
    package typealias Summary = CheckTally

    private let output: @Sendable (CheckedChunk) throws(BatchError) -> Void
    private var tally = CheckTally()

    init(_ output: @escaping @Sendable (CheckedChunk) throws(BatchError) -> Void) {
      self.output = output
    }

    package func collect(_ chunk: CheckedChunk) throws(BatchError) {
      for finding in chunk.findings { tally.count(finding) }
      try output(chunk)
    }

    package func finish() -> CheckTally { tally }
  }
}
