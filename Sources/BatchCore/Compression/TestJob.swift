/// Decodes compressed files and keeps nothing: are they whole?
public final class TestJob: BatchJob {
  /// What a file turned out to be.
  public struct Finding: Sendable {
    public let path: PathBytes
    /// nil for a file that is whole.
    public let damage: CompressionDamage?
  }

  private let options: DecoderOptions
  private let output: @Sendable ([Finding]) throws(BatchError) -> Void

  /// - Parameter output: takes what was found out about each compressed file, in tree order.
  public init(
    _ options: DecoderOptions, output: @escaping @Sendable ([Finding]) throws(BatchError) -> Void
  ) {
    self.options = options
    self.output = output
  }

  public func process(
    _ chunk: Chunk<WalkItem>, in context: ChunkContext
  ) throws(BatchError) -> [Finding] {
    let decoder = try context.tool(of: self) { () throws(BatchError) in FileDecoder(options) }
    var findings = [Finding]()
    for item in chunk.items {
      context.resultCount = findings.count
      switch item {
      case .file(let record):
        let outcome = try outcome(of: record.path, in: context) { () throws(BatchError) in
          try decoder.decode(record, in: context, restart: { _ in }, sink: { _ in })
        }
        if case .damaged(let damage, _) = outcome, Self.isOther(record, damage) {
          context.skip()
        } else if let finding = Self.finding(record.path, outcome) {
          context.finish()
          findings.append(finding)
        }
      case .standardInput:
        let outcome = try outcome(of: "-", in: context) { () throws(BatchError) in
          try decoder.decodeStandardInput(in: context, sink: { _ in })
        }
        if let finding = Self.finding("-", outcome) {
          context.finish()
          findings.append(finding)
        }
      case .problem(let problem):
        context.report(problem)
      }
    }
    return findings
  }

  private func outcome(
    of path: PathBytes, in context: ChunkContext, _ decode: () throws(BatchError) -> FileDecoder.Outcome
  ) throws(BatchError) -> FileDecoder.Outcome {
    do throws(BatchError) {
      return try decode()
    } catch {
      // What one file asks for, such as a window of gigabytes, is no reason to leave out the others.
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error.at(path)))
      return .unreadable
    }
  }

  /// nil when the file could not be read, which has been reported.
  private static func finding(_ path: PathBytes, _ outcome: FileDecoder.Outcome) -> Finding? {
    switch outcome {
    case .decoded: Finding(path: path, damage: nil)
    case .damaged(let damage, _): Finding(path: path, damage: damage)
    case .unreadable: nil
    }
  }

  /// Whether a file that was found in a folder claims to be compressed neither by name nor by content.
  private static func isOther(_ record: FileRecord, _ damage: CompressionDamage) -> Bool {
    (damage.kind == .notCompressed || record.status.size == 0) && !record.isOperand
      && OutputNaming.knownSuffix(of: record.path) == nil
  }

  public func collect(_ findings: [Finding]) throws(BatchError) {
    try output(findings)
  }
}
