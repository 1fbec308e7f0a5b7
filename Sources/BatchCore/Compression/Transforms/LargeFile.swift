import BatchEngine
import Synchronization

/// A file that all lanes compress together, block by block, and what was decided about its output.
package final class LargeFile: Sendable {
  let record: FileRecord
  let target: PathBytes
  let decision: OutputDecision
  let plan: BlockPlan
  let blockCount: Int
  private let lastNeeded = Atomic<Int>(.max)

  init(_ record: FileRecord, target: PathBytes, _ decision: OutputDecision, plan: BlockPlan) {
    self.record = record
    self.target = target
    self.decision = decision
    self.plan = plan
    blockCount = plan.blockCount ?? 0
  }

  /// Whether a block is still worth compressing. Saves work, and no result depends on it: the first block that failed
  /// decides, and those before it are compressed whatever happens behind them.
  func needs(_ index: Int) -> Bool { index <= lastNeeded.load(ordering: .relaxed) }

  /// Notes that the blocks behind one will not be used.
  func end(at index: Int) { lastNeeded.min(index, ordering: .relaxed) }
}

/// What a large file is and has when its first block is read.
struct LargeFileStart: Sendable {
  let status: FileStatus
  let attributes: [ExtendedAttribute]
}

/// The output of a large file while its blocks are joined. Belongs to the collector.
final class LargeOutput {
  let file: LargeFile
  private let output: AtomicFile
  private let place: OutputPlace
  private let start: LargeFileStart
  private let joiner: BlockJoiner

  /// - Throws: what ``AtomicFile/init(at:in:replacing:unnamedWith:registry:)`` throws, and `changed` or `vanished` where
  ///   the source's folder is not there any more.
  init(_ file: LargeFile, _ start: LargeFileStart, _ outputs: TransformOutputs) throws(BatchError) {
    self.file = file
    self.start = start
    var last: OutputPlace?
    place = try outputs.folders.prepare(try outputs.folders.place(of: file.record, after: &last))
    output = try AtomicFile(
      outputOf: start.status, at: file.target, in: place.target ?? place.source,
      replacing: file.decision.isReplacing, isSynced: outputs.options.isSynced)
    joiner = try BlockJoiner(file.plan)
    let header = joiner.header
    try output.write(header.span)
  }

  func append(_ block: CompressedBlock) throws(BatchError) {
    try joiner.append(block)
    try output.write(block.bytes.span)
  }

  /// Writes the end, and everything but the name.
  ///
  /// - Returns: the size of the output in bytes; and what to report of it.
  func finish() throws(BatchError) -> (size: Int64, remark: BatchError?) {
    let trailer = try joiner.finish()
    try output.write(trailer.span)
    let remark = try output.prepare(.init(of: start.status), attributes: start.attributes)
    return (output.size, remark)
  }

  func discard() { output.discard() }

  /// The output as one that waits for its name, which proves nothing.
  func staged() -> StagedOutput {
    StagedOutput(output, of: file.record, start.status, at: place, isProved: false)
  }

  /// Reads the output back and compares what it decodes to with the source, which may go then.
  ///
  /// The place of the output covers the descriptor that the source is read through.
  func proved(_ format: CompressionFormat, in context: CollectorContext) throws(BatchError) -> StagedOutput {
    let proof = OutputProof(
      try format.makeDecoder(by: .largeOutput), try DigestStream(.xxh128), context.calls,
      context.cancellation,
      by: .largeOutput)
    let outcome = try proof.digest(of: file.record, in: place.source)
    guard outcome.isStable else {
      throw BatchError(.changed, "changed while it was read", path: file.record.path)
    }
    let expected = try proof.digest.finish()
    try proof.prove(output, has: expected)
    if file.decision == .rewrite {
      try proof.proveExisting(file.target, in: place.target ?? place.source, has: expected)
    }
    return StagedOutput(output, of: file.record, outcome.status, at: place, isProved: true)
  }
}
