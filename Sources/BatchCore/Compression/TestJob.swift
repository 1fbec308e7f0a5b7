import BatchEngine
import BatchOutputs

/// Decodes compressed files to test whether they are undamaged, and writes nothing.
package struct TestJob: BatchJob {
  package typealias Item = WalkItem

  /// The result for one file.
  package struct Finding: Sendable {
    package let path: PathBytes
    /// The size of the compressed file in bytes.
    package let size: Int64
    /// nil for an undamaged file.
    package let damage: CompressionDamage?
    /// Why the content of a seemingly undamaged file could not be compared with a checksum.
    package let checkGap: CheckGap?
  }

  private let options: DecoderOptions
  private let parts = PartBudget()
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameter output: receives the finding about each compressed file, in tree order.
  package init(
    _ options: DecoderOptions, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.options = options
    self.output = output
  }

  package func makeWorker(in context: WorkerContext) -> Worker { Worker(FileDecoder(options, parts)) }

  package func makeCollector(in context: CollectorContext) -> sending Collector { Collector(output) }

  /// Passes findings on.
  package final class Collector: BatchCollector {
    package typealias Summary = Void

    private let output: @Sendable ([Finding]) throws(BatchError) -> Void

    init(_ output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void) {
      self.output = output
    }

    package func collect(_ findings: [Finding]) throws(BatchError) { try output(findings) }
  }

  /// Decodes files.
  package final class Worker: BatchWorker {
    private let decoder: FileDecoder

    init(_ decoder: FileDecoder) {
      self.decoder = decoder
    }

    package func process(
      _ item: WalkItem, in context: WorkerContext, into findings: inout [Finding]
    ) throws(BatchError) {
      switch item {
      case .file(let record):
        let outcome = try outcome(of: record.path, in: context) { () throws(BatchError) in
          try decoder.decode(record, in: context, restart: { _, _ in }, sink: { _ in })
        }
        if TestJob.isOther(record, outcome) {
          context.skip(.unknownFormat)
        } else if let finding = TestJob.finding(record.path, max(0, record.status.size), outcome, context) {
          findings.append(finding)
        }
      case .standardInput:
        let outcome = try outcome(of: "-", in: context) { () throws(BatchError) in
          try decoder.decodeStandardInput(in: context, sink: { _ in })
        }
        if let finding = TestJob.finding("-", decoder.inputSize, outcome, context) {
          findings.append(finding)
        }
      case .problem(let problem):
        context.report(problem)
      }
    }

    private func outcome(
      of path: PathBytes, in context: WorkerContext, _ decode: () throws(BatchError) -> FileDecoder.Outcome
    ) throws(BatchError) -> FileDecoder.Outcome {
      do throws(BatchError) {
        return try decode()
      } catch {
        // A resource that is refused to one file, such as a window of gigabytes, does not end the run.
        guard error.code != .cancelled else { throw error }
        context.report(Problem(.unreadable, error.at(path)))
        return .unreadable
      }
    }
  }

  /// Counts a file; nil when it could not be decoded for a reason that has been reported.
  fileprivate static func finding(
    _ path: PathBytes, _ size: Int64, _ outcome: FileDecoder.Outcome, _ context: WorkerContext
  ) -> Finding? {
    let finding: Finding
    switch outcome {
    case .decoded(_, _, let gap): finding = Finding(path: path, size: size, damage: nil, checkGap: gap)
    case .damaged(let damage, _): finding = Finding(path: path, size: size, damage: damage, checkGap: nil)
    case .unsupported(let format):
      context.report(Problem(.unreadable, BatchError(.invalid, format.message, path: path)))
      return nil
    case .unreadable: return nil
    }
    context.finish()
    return finding
  }

  /// Whether a file of a folder does not seem compressed, neither by name nor by content.
  static func isOther(_ record: FileRecord, _ outcome: FileDecoder.Outcome) -> Bool {
    guard !record.isOperand, CompressionFormat.knownSuffixes.first(of: record.path) == nil else {
      return false
    }
    return switch outcome {
    case .unsupported: true
    case .damaged(let damage, _): damage.kind == .notCompressed || record.status.size == 0
    case .decoded, .unreadable: false
    }
  }
}
