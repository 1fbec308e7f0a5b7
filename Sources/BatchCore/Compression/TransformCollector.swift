import BatchEngine
import BatchOutputs

/// Joins the blocks of large files and of streams; commits the outputs of compress and decompress and reports them in tree
/// order.
package final class TransformCollector: BatchCollector {
  package typealias Report = @Sendable (TransformReport) throws(BatchError) -> Void

  private let context: CollectorContext
  private let outputs: OutputStage
  let rows: OutputCollector<TransformReport>
  private let asked: AskedItems<CompressItem>?
  private let again: ((UnwrittenSource) -> Void)?
  private let stream: StreamOutput?
  /// The current large file, while its output is open.
  private var large: LargeOutput?
  /// The current large file, if its output was given up.
  private var abandoned: LargeFile?
  private let tally: Tally

  /// The state that the rows change when they are reported.
  private final class Tally {
    var counts = TransformCounts()
    var unwritten = UnwrittenSources()
    /// Whether outputs that do not fit on the disk may still be tried again.
    var retries: Bool

    init(retries: Bool) { self.retries = retries }
  }

  /// - Parameters:
  ///   - stream: receives the blocks of standard input.
  ///   - asked: takes requests for large files whose last block was written: verify or copy.
  ///   - again: requests another try of an output that did not fit on the disk; nil if there is none.
  init(
    _ outputs: OutputStage, stream: StreamOutput? = nil, asked: AskedItems<CompressItem>? = nil,
    again: ((UnwrittenSource) -> Void)? = nil, in context: CollectorContext, report: @escaping Report
  ) {
    self.context = context
    self.outputs = outputs
    self.asked = asked
    self.stream = stream
    self.again = again
    let tally = Tally(retries: again != nil)
    self.tally = tally
    rows = OutputCollector(outputs, in: context) { (source) throws(BatchError) in
      tally.counts.add(source)
      try report(source)
    } retry: { report, record, error in
      guard tally.retries, case .written(let target, _, _) = report.outcome,
        let source = UnwrittenSource(failed: error, record, target: target, outputs.options)
      else { return nil }
      tally.unwritten.add(source)
      return ObjectIdentifier(source)
    }
  }

  /// True after a stop too: outputs that are complete by then are committed and reported.
  package var collectsAfterStop: Bool { true }

  package func collect(_ rows: [TransformRow]) throws(BatchError) {
    if context.cancellation.isCancelled {
      for row in rows where row.isComplete { try take(row) }
      return
    }
    for row in rows { try take(row) }
    try self.rows.settle()
    // Rows that wait for a source without space would hold up the run.
    if self.rows.isCrowded { retry() }
  }

  package func hold(_ problem: Problem, severity: Severity) -> Bool { rows.hold(problem, severity: severity) }

  package func checkpoint() throws(BatchError) { try rows.checkpoint() }

  /// Tries outputs again that did not fit on the disk, one at a time, when nothing else is written and sources were removed.
  package func requestMore() throws(BatchError) -> Bool {
    guard outputs.options.removesSource else { return false }
    try rows.checkpoint()
    return retry()
  }

  /// - Returns: whether an output is tried again.
  @discardableResult
  private func retry() -> Bool {
    guard let again,
      let source = tally.unwritten.next(after: rows.committedCount, isUrgent: rows.isCrowded)
    else { return false }
    again(source)
    return true
  }

  private func giveUpUnwritten() {
    tally.retries = false
    for source in tally.unwritten.giveUp() { fail(source) }
  }

  private func fail(_ source: UnwrittenSource) {
    rows.fill(
      ObjectIdentifier(source), of: source.record,
      with: Problem(
        .unreadable, source.error.path == nil ? source.error.at(source.record.path) : source.error))
  }

  package func finish() throws(BatchError) -> TransformCounts {
    giveUpUnwritten()
    try rows.finish()
    try endStream()
    return tally.counts
  }

  /// Commits the complete outputs in one batch, and counts them; reads nothing more.
  package func discard() {
    large?.discard()
    large = nil
    for case .proof(let joined) in asked?.giveUp() ?? [] { joined.output.discard() }
    giveUpUnwritten()
    rows.discard()
  }

  private func take(_ row: TransformRow) throws(BatchError) {
    switch row {
    case .report(let report, let source): rows.add(report, of: source)
    case .output(let report, let output): rows.add(report, output)
    case .passedOver(let file, let row):
      abandoned = file
      if let row { try take(row) }
    case .completed(let file, .staged(let report, let output, let remark)):
      rows.fill(ObjectIdentifier(file), with: report, output, after: remark)
    case .completed(let file, .upToDate(let report, let source)):
      rows.fill(ObjectIdentifier(file), with: report, of: source)
    case .completed(let file, .failed(let problem)):
      rows.fill(ObjectIdentifier(file), of: file.record, with: problem)
    case .failed(let source): rows.noteFailure(of: source)
    case .unwritten(let source): keep(source)
    case .retried(let source, let row): end(source, row)
    case .link(let name, let decision): try rows.add(name, decision)
    case .block(let file, let block, _) where outputs.options.writesToStream:
      try appendToStream(block, of: file)
    case .block(let file, let block, let start): try append(block, of: file, start)
    case .failedBlock(let file, let problem):
      guard abandoned !== file else { return }
      if outputs.options.writesToStream, stream?.isOpen == true {
        // The bytes written so far are not a valid compressed file, so nothing after them could be read.
        throw BatchError(
          .unwritable, "standard output ends in the middle of this file: \(problem.error.message)",
          path: file.record.path, errno: problem.error.errno)
      }
      abandon(file)
      rows.fail(file.record, problem)
    case .streamBlock(let block):
      // A second stream begins where the first one ends.
      if block.index == 0 { try endStream() }
      try stream?.append(block)
      context.counters.addBytes(block.plainCount)
    case .streamed(let plain, let compressed):
      tally.counts.addStream(plain: plain, compressed: compressed)
    case .streamFile(let report, let bytes):
      try endStream()
      try stream?.append(bytes)
      context.counters.addDone()
      rows.add(report, of: nil)
    }
  }

  // MARK: Outputs without space

  /// Reserves the position of a source whose output did not fit on the disk, and frees the space of complete ones.
  private func keep(_ source: UnwrittenSource) {
    guard tally.retries else {
      return rows.fail(
        source.record, Problem(.unreadable, source.error.at(source.error.path ?? source.record.path)))
    }
    rows.keep(ObjectIdentifier(source), for: source.record)
    tally.unwritten.add(source)
    rows.flush()
  }

  /// Takes the result of another try.
  private func end(_ source: UnwrittenSource, _ row: TransformRow?) {
    let place = ObjectIdentifier(source)
    if case .unwritten? = row {
      // It is tried again when more sources were removed.
      tally.unwritten.end(of: source, isLast: rows.isCrowded)
      if rows.isCrowded { fail(source) }
      return
    }
    tally.unwritten.end(of: source, isLast: true)
    switch row {
    case .report(let report, let linked): rows.fill(place, with: report, of: linked, isCounted: true)
    case .output(let report, let output): rows.fill(place, with: report, output, after: nil)
    default: rows.drop(place, for: source.record)
    }
  }

  // MARK: Streams

  private func endStream() throws(BatchError) {
    guard let sizes = try stream?.finish() else { return }
    context.counters.addDone()
    tally.counts.addStream(plain: sizes.plain, compressed: sizes.compressed)
  }

  private func appendToStream(_ block: CompressedBlock, of file: LargeFile) throws(BatchError) {
    guard abandoned !== file, let stream else { return }
    if block.index == 0 { try endStream() }
    try stream.append(block, of: file.plan)
    context.counters.addBytes(ofBlock: block.plainCount)
    guard block.index == file.blockCount - 1, let sizes = try stream.finish() else { return }
    context.counters.addDone()
    let outcome = OutputOutcome.written(
      target: "-", plainSize: sizes.plain, compressedSize: sizes.compressed)
    rows.add(TransformReport(source: file.record.path, outcome: outcome), of: nil)
  }

  // MARK: Large files

  private func append(
    _ block: CompressedBlock, of file: LargeFile, _ start: LargeFileStart?
  ) throws(BatchError) {
    guard abandoned !== file else { return }
    do throws(BatchError) {
      if let start { large = try open(file, start) }
      guard let output = large else { return }
      try output.append(block)
      context.counters.addBytes(ofBlock: block.plainCount)
      if block.index == file.blockCount - 1 { try finish(output) }
    } catch {
      abandon(file)
      if error.code == .cancelled { throw error }
      let source = UnwrittenSource(
        failed: error, file.record, target: file.target, hasRival: file.hasRival, outputs.options)
      if let source { return keep(source) }
      rows.fail(file.record, Problem(error.code == .changed ? .changed : .unreadable, error))
    }
  }

  private func open(_ file: LargeFile, _ start: LargeFileStart) throws(BatchError) -> LargeOutput {
    // One place stays free for small outputs: lanes that wait for a place could not process blocks and verifications of large ones.
    try outputs.reserve(sparing: 1)
    do throws(BatchError) {
      return try LargeOutput(file, start, outputs)
    } catch {
      outputs.release()
      throw error
    }
  }

  private func finish(_ output: LargeOutput) throws(BatchError) {
    let file = output.file
    let (joined, remark) = try output.finish()
    if let remark { rows.add(warning: remark) }
    let options = outputs.options
    guard options.writesAll(file.decision) || joined.size < file.record.status.size else {
      abandon(file)
      if options.copiesOthers, options.naming.copyTarget(of: file.record.path) != nil {
        return complete(file, by: .copy(file))
      }
      context.counters.addSkipped(.notSmaller)
      rows.add(
        TransformReport(source: file.record.path, outcome: .notSmaller), of: LinkedSource.of(file.record))
      return
    }
    large = nil
    if options.removesSource { return complete(file, by: .proof(joined)) }
    rows.add(joined.report, joined.stage(in: outputs))
  }

  /// Requests an item that a lane must still process for a large file, and reserves the file's position among the rows.
  private func complete(_ file: LargeFile, by item: CompressItem) {
    rows.keep(ObjectIdentifier(file), for: file.record)
    asked?.ask(item)
  }

  /// Gives up the output of a large file, and its remaining blocks.
  private func abandon(_ file: LargeFile) {
    file.end(at: 0)
    abandoned = file
    guard let output = large else { return }
    output.discard()
    outputs.release()
    large = nil
  }
}
