import BatchEngine
import BatchOutputs

/// The work of a lane for files that are cut into blocks.
extension CompressJob.Worker {
  /// The end of a large file, for which later rows wait. Errors are put into the row, because its position among the rows
  /// differs from that of this item.
  func end(
    _ body: () throws(BatchError) -> TransformRow.LargeFileEnd
  ) throws(BatchError) -> TransformRow.LargeFileEnd {
    do throws(BatchError) {
      return try body()
    } catch {
      guard error.code != .cancelled else { throw error }
      return .failed(Problem(error))
    }
  }

  /// Reads an output back and compares its decoded content with its source, which may be removed afterwards.
  ///
  /// The output's staging place includes the descriptor through which the source is read.
  func prove(_ joined: JoinedOutput) throws(BatchError) -> TransformRow.LargeFileEnd {
    let (file, place) = (joined.file, joined.place)
    do throws(BatchError) {
      let outcome = try proof.digest(of: file.record, in: place.source)
      guard outcome.isStable else {
        throw BatchError(.changed, "changed while it was read", path: file.record.path)
      }
      let expected = try proof.digest.finish()
      try proof.prove(joined.output, has: expected)
      return .staged(joined.report, joined.stage(in: outputs, provedBy: outcome.status), remark: nil)
    } catch {
      joined.output.discard()
      outputs.release()
      throw error
    }
  }

  /// Makes an output again that did not fit on its file system.
  ///
  /// - Returns: nil when it failed in another way, which has been reported.
  func retry(_ source: UnwrittenSource, _ context: WorkerContext) throws(BatchError) -> TransformRow? {
    let threshold = try CompressSource.blockThreshold(format, level: level)
    guard source.record.status.size >= threshold, !(codec is TransformContext) else {
      return try compress(source.record, source.target, hasRival: source.hasRival, context)
    }
    return try compressAlone(source.record, source.target, hasRival: source.hasRival, context)
  }

  /// Makes the output of a large file on this lane alone.
  ///
  /// - Returns: nil when it failed, which has been reported.
  private func compressAlone(
    _ record: FileRecord, _ target: PathBytes, hasRival: Bool, _ context: WorkerContext
  ) throws(BatchError) -> TransformRow? {
    guard let plan = OutputPlan(for: record, target: target, outputs, after: &place, in: context) else {
      return nil
    }
    if let rows = context.settled(record, plan.decision) { return rows.first }
    if case .compare(let output) = plan.decision { return try compare(record, with: output, plan, context) }
    let file = LargeFile(
      record, target: target, plan.decision, hasRival: hasRival,
      plan: try BlockPlan(format, level: level, fileSize: UInt64(record.status.size)))
    if !options.writesAll(plan.decision), isCompressed(file, context) {
      return try passOver(record, .compressedAlready, hasRival: hasRival, context)
    }
    do throws(BatchError) {
      try outputs.reserve()
      let (joined, remark) = try join(file, context)
      guard options.writesAll(plan.decision) || joined.size < record.status.size else {
        joined.output.discard()
        outputs.release()
        return try passOver(record, .notSmaller, hasRival: hasRival, context)
      }
      if let remark { context.warn(Problem(.special, remark)) }
      guard case .staged(let report, let output, _) = try prove(joined) else { return nil }
      return .output(report, output)
    } catch {
      return try failed(error, record, target: target, hasRival: hasRival, context)
    }
  }

  /// Compresses all blocks of a large file on this lane. Gives back the staging place if it fails.
  private func join(
    _ file: LargeFile, _ context: WorkerContext
  ) throws(BatchError) -> (JoinedOutput, remark: BatchError?) {
    var output: LargeOutput?
    do throws(BatchError) {
      for index in 0..<file.blockCount {
        guard let range = file.plan.range(ofBlock: index) else { break }
        let start = try read(range, ofBlock: index, of: file, isCounted: true, context)
        if let start { output = try LargeOutput(file, start, outputs) }
        try output?.append(try compress(content, index))
      }
      guard let output else { throw BatchError(.unreadable, "cannot be read", path: file.record.path) }
      return try output.finish()
    } catch {
      output?.discard()
      outputs.release()
      throw error
    }
  }

  /// Copies a large file whose compressed form is not smaller.
  func copy(_ file: LargeFile, _ context: WorkerContext) throws(BatchError)
    -> TransformRow.LargeFileEnd
  {
    let record = file.record
    let target = options.naming.copyTarget(of: record.path) ?? record.path
    guard !file.hasRival else { throw OutputClaims.conflict(of: record, target) }
    let plan = try OutputPlan(for: record, target: target, options, outputs.folders, after: &place)
    switch plan.decision {
    case .write, .compare: break
    case .refused(let error): throw error
    case .upToDate(let output):
      return .upToDate(
        TransformReport(source: record.path, outcome: .upToDate),
        LinkedSource.of(record, output: output, isCopy: true))
    }
    let reader = FileReader(calls: context.calls, by: context.reading)
    let copy = try PlainCopy(outputs: outputs).stage(record, plan) { (opened, consume) throws(BatchError) in
      let outcome = try reader.read(record, opened: opened) { (piece) throws(BatchError) in
        try context.checkCancellation()
        try consume(piece)
      }
      guard outcome.isStable else {
        throw BatchError(.changed, "changed while it was read", path: record.path)
      }
      return outcome
    }
    guard let copy else { throw BatchError(.unreadable, "cannot be copied", path: record.path) }
    return .staged(
      TransformReport(source: record.path, outcome: .copied(target: target, size: copy.output.read.size)),
      copy.output, remark: copy.remark)
  }

  // MARK: Blocks

  func compress(_ bytes: [UInt8], _ index: Int) throws(BatchError) -> CompressedBlock {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try codec.compress(block: raw, index: index) }
  }

  /// Whether the first bytes of a large file show a compressed format. A file that cannot be read fails with its first block.
  private func isCompressed(_ file: LargeFile, _ context: WorkerContext) -> Bool {
    if let start = try? context.firstBytes(of: file.record), CompressionFormat.isCompressed(start: start) {
      return true
    }
    file.notePlain()
    return false
  }

  /// Decides about the output of a large file, if no other lane has.
  ///
  /// - Returns: nil if its blocks are compressed; otherwise the row of the first block, or no row for another one.
  private func passOver(
    _ file: LargeFile, _ index: Int, _ context: WorkerContext
  ) throws(BatchError) -> [TransformRow]? {
    guard !options.writesToStream else { return nil }
    let record = file.record
    let decision: OutputDecision
    do throws(BatchError) {
      decision = try file.decide { () throws(BatchError) in
        try OutputPlan(for: record, target: file.target, options, outputs.folders, after: &place).decision
      }
    } catch {
      file.end(at: 0)
      guard index == 0 else { return [] }
      // A file that changed has no output, so it counts as failed under every policy.
      if error.code == .changed {
        context.fail(Problem(.changed, error))
      } else {
        context.report(Problem(error))
      }
      return [passedOver(file, by: nil)]
    }
    guard !decision.isWritten || file.obstacle != nil else { return nil }
    file.end(at: 0)
    guard index == 0 else { return [] }
    if let rows = context.settled(record, decision) { return [passedOver(file, by: rows.first)] }
    if let obstacle = file.obstacle {
      context.report(obstacle)
      return [passedOver(file, by: nil)]
    }
    return [
      passedOver(file, by: try compressAlone(record, file.target, hasRival: file.hasRival, context))
    ]
  }

  /// - Parameter row: nil if the file failed.
  private func passedOver(_ file: LargeFile, by row: TransformRow?) -> TransformRow {
    .passedOver(file, row ?? LinkedSource.of(file.record).map { .failed($0) })
  }

  /// - Returns: nil for a block that is not needed any more.
  func compress(
    _ file: LargeFile, _ index: Int, _ context: WorkerContext
  ) throws(BatchError) -> TransformRow? {
    guard file.needs(index), let range = file.plan.range(ofBlock: index) else { return nil }
    if let rows = try passOver(file, index, context) { return rows.first }
    let writesAll = options.writesToStream || options.writesAll(file.decision)
    if !writesAll, !file.isPlain, isCompressed(file, context) {
      // Other blocks need not be compressed; the first one decides about the file.
      file.end(at: 0)
      guard index == 0 else { return nil }
      return passedOver(
        file, by: try passOver(file.record, .compressedAlready, hasRival: file.hasRival, context))
    }
    var start: LargeFileStart?
    do throws(BatchError) {
      start = try read(range, ofBlock: index, of: file, isCounted: false, context)
    } catch {
      try context.checkCancellation()
      file.end(at: index)
      return .failedBlock(file, Problem(error))
    }
    return .block(file, try compress(content, index), start)
  }

  /// Reads a block into `content`.
  ///
  /// - Returns: status and attributes of the file, if it is the first block.
  private func read(
    _ range: Range<UInt64>, ofBlock index: Int, of file: LargeFile, isCounted: Bool,
    _ context: WorkerContext
  ) throws(BatchError) -> LargeFileStart? {
    // Releases the previous block first: two large blocks would take too much memory.
    content = []
    content = try [UInt8](upTo: range.count) { (room) throws(BatchError) in
      try context.read(file.record, ranges: [range], into: room, isCounted: isCounted)
      return range.count
    }
    guard index == 0 else { return nil }
    return try context.withFile(file.record) { (source, now) throws(BatchError) in
      try now.requireContent(of: file.record)
      return LargeFileStart(status: now, attributes: AttributeReader.attributes(of: source))
    }
  }
}
