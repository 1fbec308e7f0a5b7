import BatchEngine
import BatchOutputs

/// Decodes compressed files to test whether they are undamaged, and writes nothing.
package struct TestJob: RowJob {
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
  package let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameter output: receives the finding about each compressed file, in tree order.
  package init(
    _ options: DecoderOptions, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.options = options
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<WalkItem, [Finding]> {
    let decoder = FileDecoder(options, parts)
    return FunctionWorker { (item, context, findings) throws(BatchError) in
      try process(item, with: decoder, in: context, into: &findings)
    }
  }

  private func process(
    _ item: WalkItem, with decoder: FileDecoder, in context: WorkerContext, into findings: inout [Finding]
  ) throws(BatchError) {
    switch item {
    case .file(let record):
      let outcome = try outcome(of: record.path, in: context) { () throws(BatchError) in
        try decoder.decode(record, in: context, restart: { _, _ in }, sink: { _ in })
      }
      if Self.isOther(record, outcome) {
        context.skip(.unknownFormat)
      } else if let finding = finding(
        record.path, size: max(0, record.status.size), outcome: outcome, in: context)
      {
        findings.append(finding)
      }
    case .standardInput:
      let outcome = try outcome(of: "-", in: context) { () throws(BatchError) in
        try decoder.decodeStandardInput(in: context, sink: { _ in })
      }
      if let finding = finding("-", size: decoder.inputSize, outcome: outcome, in: context) {
        findings.append(finding)
      }
    }
  }

  private func outcome(
    of path: PathBytes, in context: WorkerContext, _ decode: () throws(BatchError) -> FileDecoder.Outcome
  ) throws(BatchError) -> FileDecoder.Outcome {
    do throws(BatchError) {
      return try decode()
    } catch {
      // If one file needs a resource that is refused, such as a window of gigabytes, the other files are still tested.
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error.at(path)))
      return .unreadable
    }
  }

  /// Counts a file; nil when it could not be decoded for a reason that has been reported.
  private func finding(
    _ path: PathBytes, size: Int64, outcome: FileDecoder.Outcome, in context: WorkerContext
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
