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
      switch item {
      case .file(let record):
        let outcome: FileDecoder.Outcome
        do throws(BatchError) {
          outcome = try decoder.decode(record, in: context, restart: {}, sink: { _ in })
        } catch {
          // What one file asks for, such as a window of gigabytes, is no reason to leave out the others.
          guard error.code != .cancelled else { throw error }
          context.report(Problem(.unreadable, error.at(record.path)))
          continue
        }
        switch outcome {
        case .decoded:
          context.finish()
          findings.append(Finding(path: record.path, damage: nil))
        case .damaged(let damage):
          let isOther = damage.kind == .notCompressed || record.status.size == 0
          if isOther, !record.isOperand, OutputNaming.knownSuffix(of: record.path) == nil {
            context.skip()
          } else {
            context.finish()
            findings.append(Finding(path: record.path, damage: damage))
          }
        case .unreadable: break
        }
      case .standardInput:
        context.report(
          Problem(
            .unreadable, BatchError(.invalid, "a stream is tested by decompress - >/dev/null", path: "-")))
      case .problem(let problem):
        context.report(problem)
      }
    }
    return findings
  }

  public func collect(_ findings: [Finding]) throws(BatchError) {
    try output(findings)
  }
}
