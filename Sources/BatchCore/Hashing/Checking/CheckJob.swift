import BatchEngine

/// Verifies the entries of manifests: reads each file once and compares its digests.
package struct CheckJob: BatchJob {
  package typealias Item = CheckItem

  private let ignoresMissing: Bool
  private let largeFiles = Blake3File.Files()
  private let render: @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
  private let output: @Sendable (CheckedChunk) throws(BatchError) -> Void

  /// - Parameters:
  ///   - ignoresMissing: whether files that do not exist are neither reported nor counted as missing.
  ///   - render: appends the row of an entry; called on many threads at once.
  ///   - output: receives results; one call at a time, in the order of the manifest.
  package init(
    ignoresMissing: Bool,
    render: @escaping @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void,
    output: @escaping @Sendable (CheckedChunk) throws(BatchError) -> Void
  ) {
    self.ignoresMissing = ignoresMissing
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> Worker {
    try Worker(
      DigestPool(concurrency: context.concurrencyLimit), largeFiles, ignoresMissing: ignoresMissing, render)
  }

  package func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector {
    Collector(output)
  }

  package final class Worker: BatchWorker {
    /// A file that waits for its digest.
    private struct Waiting {
      let entry: ManifestEntry
      let record: FileRecord
      let readings: [[Digest]]
    }

    private let digests: DigestPool
    private let reader: DigestReader<Waiting>
    private let largeFiles: Blake3File.Files
    private let ignoresMissing: Bool
    private let render: @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
    /// The algorithm that matched the last row of unknown algorithm.
    private var matched: DigestAlgorithm?

    init(
      _ digests: DigestPool, _ largeFiles: Blake3File.Files, ignoresMissing: Bool,
      _ render: @escaping @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
    ) throws(BatchError) {
      self.digests = digests
      self.largeFiles = largeFiles
      reader = try DigestReader()
      self.ignoresMissing = ignoresMissing
      self.render = render
    }

    package func process(
      _ item: CheckItem, in context: WorkerContext, into output: inout CheckedChunk
    ) throws(BatchError) {
      if case .file(let entry, let record) = item {
        return try check(entry, record, in: context, into: &output)
      }
      try settle(in: context, into: &output)
      switch item {
      case .file: break
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
        output.append(problem.error.code == .malformed ? .malformedManifest : .unreadableManifest)
      }
    }

    private func add(_ entry: ManifestEntry, _ outcome: CheckOutcome, to output: inout CheckedChunk) {
      output.append(outcome == .differs ? .different(entry.path) : .entry(outcome)) {
        render(entry, outcome, &$0)
      }
    }

    package func end(in context: WorkerContext, into output: inout CheckedChunk) throws(BatchError) {
      try settle(in: context, into: &output)
    }

    package func settle(in context: WorkerContext, into output: inout CheckedChunk) throws(BatchError) {
      try reader.settle { (file, digest) throws(BatchError) in
        try add(file.entry, compare(file, [digest], in: context), to: &output)
      }
      context.resultCount = output.count
    }

    private func check(
      _ entry: ManifestEntry, _ record: FileRecord, in context: WorkerContext, into output: inout CheckedChunk
    ) throws(BatchError) {
      var readings = [entry.digests] + entry.otherReadings.map { [$0] }
      // Rows of one manifest usually have one algorithm: the one that matched last is tried first.
      if let place = readings.firstIndex(where: { $0.count == 1 && $0[0].algorithm == matched }) {
        readings.insert(readings.remove(at: place), at: 0)
      }
      let file = Waiting(entry: entry, record: record, readings: readings)
      let algorithms = readings[0].map(\.algorithm)
      if algorithms == [.blake3], record.status.size >= Blake3File.threshold,
        let digest = try Blake3File.digest(of: record, among: largeFiles, in: context)?.digest
      {
        try settle(in: context, into: &output)
        context.finish()
        return add(entry, try compare(file, [digest], in: context), to: &output)
      }
      let content = try reader.read(record, for: digests.set(of: algorithms), in: context) {
        () throws(BatchError) in try settle(in: context, into: &output)
      }
      guard let content else { return add(entry, .unreadable, to: &output) }
      if let found = content.digests {
        add(entry, try compare(file, found, in: context), to: &output)
      } else {
        reader.wait(content, file)
      }
    }

    /// Compares the digests of a file with those of its entry; if the entry fits several algorithms, the file is read again for
    /// each other one.
    private func compare(
      _ file: Waiting, _ found: [Digest], in context: WorkerContext
    ) throws(BatchError) -> CheckOutcome {
      if found == file.readings[0] { return .matches }
      for reading in file.readings.dropFirst() {
        let other = try digests.read(reading.map(\.algorithm)) { (set) throws(BatchError) in
          try context.reread(file.record) {
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

    private func checkStandardInput(
      _ entry: ManifestEntry, in context: WorkerContext
    ) throws(BatchError) -> CheckOutcome {
      // It can be read only once, so the digests of all algorithms that the entry fits are computed.
      let readings = [entry.digests] + entry.otherReadings.map { [$0] }
      let found = try digests.read(readings.joined().map(\.algorithm)) { (set) throws(BatchError) in
        set.reset()
        let isRead = try context.readStandardInput { (piece) throws(BatchError) in try set.update(piece) }
        return isRead ? true : nil
      }
      guard let found else { return .unreadable }
      return readings.contains { $0.allSatisfy(found.contains) } ? .matches : .differs
    }
  }

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
