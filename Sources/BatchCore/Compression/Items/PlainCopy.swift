import BatchEngine
import BatchOutputs

/// Copies a source without a compressed output to the folder of its output, under its own name.
struct PlainCopy {
  /// Opens the source, passes it on each time that reading starts, and reads it to its end.
  typealias Read = (
    _ opened: (borrowing Descriptor, FileStatus) throws(BatchError) -> Void,
    _ consume: (UnsafeRawBufferPointer) throws(BatchError) -> Void
  ) throws(BatchError) -> ReadOutcome?

  let outputs: OutputStage

  /// Takes a staging place and writes the copy; the staged output keeps the place.
  ///
  /// - Returns: nil when the source cannot be used, which `read` has reported.
  func stage(
    _ record: FileRecord, _ plan: OutputPlan, read: Read
  ) throws(BatchError) -> (output: StagedOutput, remark: BatchError?)? {
    try outputs.reserve()
    var file: AtomicFile?
    do throws(BatchError) {
      let place = try outputs.folders.prepare(plan.place)
      var attributes: [ExtendedAttribute] = []
      var size: Int64 = 0
      let outcome = try read { (source, status) throws(BatchError) in
        attributes = AttributeReader.attributes(of: source.raw)
        file?.discard()
        size = 0
        file = try AtomicFile(
          outputOf: status, at: plan.target, in: place.outputFolder,
          replacing: plan.decision.isReplacing, isSynced: outputs.options.isSynced)
      } _: { (piece) throws(BatchError) in
        size += Int64(piece.count)
        try file?.writeSparse(piece)
      }
      guard let outcome, let file else {
        file?.discard()
        outputs.release()
        return nil
      }
      try file.finishSparse(size: size)
      let remark = try file.prepare(.init(of: outcome.status, mark: .kept), attributes: attributes)
      return (outputs.add(file, of: record, outcome.status, at: place, isProved: false), remark)
    } catch {
      file?.discard()
      outputs.release()
      throw error
    }
  }
}
