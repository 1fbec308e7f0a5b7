import BatchEngine
import BatchOutputs
import Synchronization

/// A file that all lanes compress together, block by block. The first lane that processes a block decides about its output.
package final class LargeFile: Sendable {
  let record: FileRecord
  let target: PathBytes
  /// Why it is not compressed if its output has to be written; nil if it can be.
  let obstacle: Problem?
  /// Whether a copy of it would have the name of another source's output.
  let hasRival: Bool
  let plan: BlockPlan
  let blockCount: Int
  private let made: Mutex<Result<OutputDecision, BatchError>?>
  private let lastNeeded = Atomic<Int>(.max)
  private let isChecked = Atomic<Bool>(false)

  /// - Parameter decision: the decision about its output; nil if a lane has to make it.
  init(
    _ record: FileRecord, target: PathBytes, _ decision: OutputDecision? = nil, hasRival: Bool,
    plan: BlockPlan, obstacle: Problem? = nil
  ) {
    self.record = record
    self.target = target
    made = Mutex(decision.map { .success($0) })
    self.obstacle = obstacle
    self.hasRival = hasRival
    self.plan = plan
    blockCount = plan.blockCount ?? 0
  }

  /// The decision about its output, which all blocks share; made by the first call.
  ///
  /// - Throws: why it could not be made.
  func decide(_ look: () throws(BatchError) -> OutputDecision) throws(BatchError) -> OutputDecision {
    try made.withLock { (made) throws(BatchError) in
      let result = made ?? Result { () throws(BatchError) in try look() }
      made = result
      return try result.get()
    }
  }

  /// The decision that was made.
  var decision: OutputDecision {
    if case .success(let decision)? = made.withLock({ $0 }) { decision } else { .write(isReplacing: false) }
  }

  /// Whether a block is still worth compressing. This only saves work: no result depends on it, because the first failed block
  /// decides, and blocks before it are always compressed.
  func needs(_ index: Int) -> Bool { index <= lastNeeded.load(ordering: .relaxed) }

  /// Whether a lane found that the file is not in a compressed format.
  var isPlain: Bool { isChecked.load(ordering: .relaxed) }

  /// Records that the file is not in a compressed format.
  func notePlain() { isChecked.store(true, ordering: .relaxed) }

  /// Records that the blocks after this one will not be used.
  func end(at index: Int) { lastNeeded.min(index, ordering: .relaxed) }
}

/// The status and attributes of a large file when its first block is read.
package struct LargeFileStart: Sendable {
  let status: FileStatus
  let attributes: [ExtendedAttribute]
}

/// The complete output of a large file, not yet verified and renamed.
package struct JoinedOutput: Sendable {
  let file: LargeFile
  let output: AtomicFile
  let place: OutputPlace
  let start: LargeFileStart
  /// The size in bytes.
  let size: Int64

  var report: TransformReport {
    var report = TransformReport(
      source: file.record.path,
      outcome: .written(target: file.target, plainSize: file.record.status.size, compressedSize: size))
    report.hasReplaced = file.decision.isReplacing
    return report
  }

  /// Stages the output.
  ///
  /// - Parameter read: the status of the source when the output was compared with it; nil if it was not compared.
  func stage(in outputs: OutputStage, provedBy read: FileStatus? = nil) -> StagedOutput {
    outputs.add(output, of: file.record, read ?? start.status, at: place, isProved: read != nil)
  }
}

/// The output of a large file while its blocks are joined. Belongs to the collector.
final class LargeOutput {
  let file: LargeFile
  private let output: AtomicFile
  private let place: OutputPlace
  private let start: LargeFileStart
  private let joiner: BlockJoiner
  private let mark: OutputMark

  /// - Throws: the errors of ``AtomicFile/init(at:in:replacing:unnamedWith:area:)``, and `changed` or `vanished` if the
  ///   source's folder is gone or replaced.
  init(_ file: LargeFile, _ start: LargeFileStart, _ outputs: OutputStage) throws(BatchError) {
    self.file = file
    self.start = start
    mark = outputs.options.removesSource ? .removed : .kept
    var last: OutputPlace?
    place = try outputs.folders.prepare(try outputs.folders.place(of: file.record, after: &last))
    output = try AtomicFile(
      outputOf: start.status, at: file.target, in: place.outputFolder,
      replacing: file.decision.isReplacing, isSynced: outputs.options.isSynced)
    joiner = try BlockJoiner(file.plan, canPatch: true)
    let header = joiner.header
    try output.write(header.span)
  }

  func append(_ block: CompressedBlock) throws(BatchError) {
    try joiner.append(block)
    try output.write(block.bytes.span)
  }

  /// Writes the end and the metadata; does not rename the file.
  ///
  /// - Returns: the output, and a warning about it.
  func finish() throws(BatchError) -> (JoinedOutput, remark: BatchError?) {
    let trailer = try joiner.finish()
    try output.write(trailer.span)
    if let patch = joiner.patch { try output.overwrite(patch.bytes.span, at: patch.offset) }
    let remark = try output.prepare(
      .init(of: start.status, mark: mark.stored), attributes: start.attributes)
    return (
      JoinedOutput(file: file, output: output, place: place, start: start, size: try output.size()), remark
    )
  }

  func discard() { output.discard() }
}
