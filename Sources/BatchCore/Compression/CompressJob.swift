import BatchEngine
import BatchOutputs

/// Compresses the files of a tree, one output for each.
///
/// A small file is one output of one operation. The blocks of a large one are compressed by all lanes and joined by the
/// collector in order.
package struct CompressJob: BatchJob {
  package typealias Item = CompressItem

  private let format: CompressionFormat
  private let level: Int
  private let options: OutputOptions
  private let commits: any CommitCalls
  private let output: any ResultStream
  private let asked: AskedItems<CompressItem>?
  private let report: TransformCollector.Report
  /// Makes the outputs instead of the codec; nil to compress.
  private let transform: TransformContext.Body?

  /// - Parameters:
  ///   - source: the source of the run.
  ///   - output: receives the compressed form of standard input, and of all files if the options require that.
  ///   - report: receives every source, in tree order, when its output is committed.
  ///   - transform: makes the outputs of whole files instead of the codec.
  package init(
    of source: CompressSource, output: any ResultStream, commits: any CommitCalls = LinuxCommitCalls(),
    transform: (@Sendable ([UInt8]) throws(BatchError) -> [UInt8])? = nil,
    report: @escaping TransformCollector.Report
  ) {
    self.transform = transform
    format = source.format
    level = source.level
    options = source.options
    asked = source.asked
    self.output = output
    self.commits = commits
    self.report = report
  }

  package var descriptors: Int { options.descriptorsOfLane }

  package func makeWorker(in context: WorkerContext) throws(BatchError) -> Worker {
    let probe = context.laneProbe
    let codec: any CodecContext =
      if let transform {
        TransformContext(transform)
      } else {
        try format.makeContext(level: level) { () throws(BatchError) in try probe.check() }
      }
    return try Worker(format, codec, RunOutputs.of(context.services, options, commits), context)
  }

  package func makeCollector(in context: CollectorContext) throws(BatchError) -> sending TransformCollector {
    TransformCollector(
      RunOutputs.of(context.services, options, commits),
      stream: StreamOutput(output, try BlockPlan(format, level: level, fileSize: nil)), asked: asked,
      in: context, report: report)
  }

  /// Compresses files and blocks, with a codec, a digest, and two reusable buffers.
  package final class Worker: BatchWorker {
    /// Larger files are read in pieces, between which a run can be stopped.
    private static let largestPiece = 8 << 20

    private let outputs: RunOutputs
    private let codec: any CodecContext
    private let proof: OutputProof<DecodedContent>
    private var content: [UInt8] = []
    private var compressed: [UInt8] = []
    private var attributes: [ExtendedAttribute] = []
    /// The place of the last source and its output; closed between chunks.
    private var place: OutputPlace?

    init(
      _ format: CompressionFormat, _ codec: any CodecContext, _ outputs: RunOutputs, _ context: WorkerContext
    ) throws(BatchError) {
      self.outputs = outputs
      self.codec = codec
      proof = OutputProof(
        try format.makeDecoder(by: context.reading), try DigestStream(.xxh128), context.calls,
        context.laneProbe, by: context.reading)
    }

    private var options: OutputOptions { outputs.options }

    package func process(
      _ item: CompressItem, in context: WorkerContext, into rows: inout [TransformRow]
    ) throws(BatchError) {
      switch item {
      case .file(let record, let target, let decision, let hasRival):
        if let row = try compress(record, target, decision, hasRival: hasRival, context) {
          rows.append(row)
        } else if let source = LinkedSource.of(record) {
          rows.append(.failed(source))
        }
      case .block(let file, let index):
        if let row = try compress(file, index, context) { rows.append(row) }
      case .proof(let output):
        let end = try end { () throws(BatchError) in try prove(output) }
        rows.append(.completed(output.file, end))
      case .copy(let file):
        let end = try end { () throws(BatchError) in try copy(file, context) }
        rows.append(.completed(file, end))
      case .streamBlock where options.isDryRun:
        rows.append(context.plan("-", target: "-", size: 0))
      case .streamBlock(let bytes, let index):
        rows.append(.streamBlock(try compress(bytes, index)))
      case .link(let name):
        let plan = OutputPlan(for: name.record, target: name.target, outputs, after: &place, in: context)
        if let plan { rows.append(.link(name, plan.decision)) }
      case .compressed(let record):
        if let row = try passOver(record, .compressedAlready, hasRival: false, context) { rows.append(row) }
      case .repeated: context.skip(.repeated)
      case .problem(let problem): context.report(problem)
      }
    }

    package func end(in context: WorkerContext, into rows: inout [TransformRow]) {
      place = nil
    }

    /// Skips or copies a source that gets no compressed output.
    ///
    /// - Returns: nil when it failed, which has been reported.
    private func passOver(
      _ record: FileRecord, _ outcome: OutputOutcome, hasRival: Bool, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      guard options.copiesOthers, let target = options.naming.copyTarget(of: record.path) else {
        context.skip(outcome.skipReason)
        return .report(TransformReport(source: record.path, outcome: outcome), LinkedSource.of(record))
      }
      guard !hasRival else {
        context.report(Problem(.unreadable, OutputClaims.conflict(of: record, target)))
        return nil
      }
      guard let plan = OutputPlan(for: record, target: target, outputs, after: &place, in: context) else {
        return nil
      }
      if let rows = context.settled(record, plan.decision, isCopy: true) { return rows.first }
      if options.isDryRun { return context.plan(record, target: target, isCopy: true) }
      do throws(BatchError) {
        let copy = try PlainCopy(outputs: outputs).stage(record, plan) {
          (opened, consume) throws(BatchError) in
          try context.read(record, isCounted: false, opened: opened, consume: consume)
        }
        guard let copy else { return nil }
        if let remark = copy.remark { context.warn(Problem(.special, remark)) }
        let report = TransformReport(
          source: record.path, outcome: .copied(target: target, size: copy.output.read.size))
        return .output(report, copy.output)
      } catch {
        guard error.code != .cancelled else { throw error }
        context.report(Problem(.unreadable, error.path == nil ? error.at(record.path) : error))
        return nil
      }
    }

    // MARK: Small files

    /// - Returns: nil when it failed, which has been reported.
    private func compress(
      _ record: FileRecord, _ target: PathBytes, _ decision: OutputDecision?, hasRival: Bool,
      _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      if options.writesToStream {
        guard !options.isDryRun else { return context.plan(record, target: record.path) }
        return try compressToStream(record, context)
      }
      if let decision, let rows = context.settled(record, decision) { return rows.first }
      guard let plan = OutputPlan(for: record, target: target, outputs, after: &place, in: context) else {
        return nil
      }
      if let rows = context.settled(record, plan.decision) { return rows.first }
      let writesAll = options.writesAll(plan.decision)
      if options.isDryRun {
        guard let start = context.start(of: record) else { return nil }
        guard !writesAll, CompressionFormat.isCompressed(start: start) else {
          return context.plan(record, target: target)
        }
        return try passOver(record, .compressedAlready, hasRival: hasRival, context)
      }
      guard let outcome = try read(record, in: context) else { return nil }
      let isCompressed = content.withUnsafeBytes { raw in
        CompressionFormat.isCompressed(
          start: UnsafeRawBufferPointer(rebasing: raw.prefix(CompressionFormat.detectionLength)))
      }
      if !writesAll, isCompressed {
        return try passOver(record, .compressedAlready, hasRival: hasRival, context)
      }
      compressed.removeAll(keepingCapacity: true)
      do throws(BatchError) {
        try withBytes(of: content) { (raw) throws(BatchError) in
          try codec.compress(wholeFile: raw, into: &compressed)
        }
      } catch {
        guard codec is TransformContext, error.code != .cancelled else { throw error }
        context.report(Problem(.unreadable, error.at(record.path)))
        return nil
      }
      if !writesAll, compressed.count >= content.count {
        return try passOver(record, .notSmaller, hasRival: hasRival, context)
      }
      var report = report(of: record, target)
      report.hasReplaced = plan.decision.isReplacing
      do throws(BatchError) {
        let (staged, remark) = try write(plan, of: record, outcome)
        if let remark { context.warn(Problem(.special, remark)) }
        return .output(report, staged)
      } catch {
        guard error.code != .cancelled else { throw error }
        context.report(Problem(.unreadable, error))
        return nil
      }
    }

    private func report(of record: FileRecord, _ target: PathBytes) -> TransformReport {
      TransformReport(
        source: record.path,
        outcome: .written(
          target: target, plainSize: Int64(content.count), compressedSize: Int64(compressed.count)))
    }

    private func compressToStream(
      _ record: FileRecord, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      guard try read(record, in: context) != nil else { return nil }
      compressed.removeAll(keepingCapacity: true)
      try withBytes(of: content) { (raw) throws(BatchError) in
        try codec.compress(wholeFile: raw, into: &compressed)
      }
      return .streamFile(report(of: record, "-"), compressed)
    }

    /// Reads a file, with the retries of the policy, into `content` and `attributes`.
    ///
    /// - Returns: nil when it must not be used; the reason has been reported.
    private func read(_ record: FileRecord, in context: WorkerContext) throws(BatchError) -> ReadOutcome? {
      var outcome: ReadOutcome?
      var pieces: [UInt8] = []
      let size = Int(clamping: max(0, record.status.size))
      let isOnePiece = size < Self.largestPiece
      if !isOnePiece { pieces.reserveCapacity(size) }
      content.removeAll(keepingCapacity: isOnePiece)
      // One byte more, to detect the end.
      let capacity = isOnePiece ? size + 1 : 1
      try content.append(upTo: capacity) { base throws(BatchError) in
        let room = UnsafeMutableRawBufferPointer(start: base, count: capacity)
        var count = 0
        outcome = try context.read(record, isCounted: false, into: room) {
          (file: borrowing Descriptor, _) throws(BatchError) in
          attributes = AttributeReader.attributes(of: file.raw)
          pieces.removeAll(keepingCapacity: true)
        } consume: { piece in
          if piece.baseAddress == UnsafeRawPointer(base) { count = piece.count } else { pieces += piece }
        }
        return count
      }
      if !pieces.isEmpty { content = pieces }
      return outcome
    }

    /// Takes a staging place, writes the output and stages it.
    ///
    /// - Returns: a warning about the output.
    private func write(
      _ plan: OutputPlan, of record: FileRecord, _ outcome: ReadOutcome
    ) throws(BatchError) -> (output: StagedOutput, remark: BatchError?) {
      try outputs.reserve()
      do throws(BatchError) {
        let place = try outputs.folders.prepare(plan.place)
        self.place = place
        let folder = place.outputFolder
        let file = try AtomicFile(
          outputOf: outcome.status, at: plan.target, in: folder, replacing: plan.decision.isReplacing,
          isSynced: options.isSynced)
        try file.write(compressed.span)
        let removes = options.removesSource && outcome.isStable
        if removes {
          let expected = try withBytes(of: content) { (raw) throws(BatchError) in
            try proof.digest.digest(of: raw)
          }
          try proof.prove(file, has: expected)
          if plan.decision == .rewrite { try proof.proveExisting(plan.target, in: folder, has: expected) }
        }
        let remark = try file.prepare(.init(of: outcome.status), attributes: attributes)
        return (outputs.add(file, of: record, outcome.status, at: place, isProved: removes), remark)
      } catch {
        outputs.release()
        throw error
      }
    }

    // MARK: Large files

    /// The end of a large file, for which later rows wait. Errors are put into the row, because its position among the rows
    /// differs from that of this item.
    private func end(
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
    private func prove(_ joined: JoinedOutput) throws(BatchError) -> TransformRow.LargeFileEnd {
      let (file, place) = (joined.file, joined.place)
      do throws(BatchError) {
        let outcome = try proof.digest(of: file.record, in: place.source)
        guard outcome.isStable else {
          throw BatchError(.changed, "changed while it was read", path: file.record.path)
        }
        let expected = try proof.digest.finish()
        try proof.prove(joined.output, has: expected)
        if file.decision == .rewrite {
          try proof.proveExisting(file.target, in: place.outputFolder, has: expected)
        }
        return .staged(joined.report, joined.stage(in: outputs, provedBy: outcome.status), remark: nil)
      } catch {
        joined.output.discard()
        outputs.release()
        throw error
      }
    }

    /// Copies a large file whose compressed form is not smaller.
    private func copy(_ file: LargeFile, _ context: WorkerContext) throws(BatchError)
      -> TransformRow.LargeFileEnd
    {
      let record = file.record
      let target = options.naming.copyTarget(of: record.path) ?? record.path
      guard !file.hasRival else { throw OutputClaims.conflict(of: record, target) }
      let plan = try OutputPlan(for: record, target: target, options, outputs.folders, after: &place)
      switch plan.decision {
      case .write, .rewrite: break
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

    private func compress(_ bytes: [UInt8], _ index: Int) throws(BatchError) -> CompressedBlock {
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

    /// Checks the existing output again, and reads the start of an older file that would be replaced: the source did not open
    /// it.
    ///
    /// - Throws: why the output must not be written.
    private func requireWay(for file: LargeFile) throws(BatchError) {
      let plan = try OutputPlan(
        for: file.record, target: file.target, options, outputs.folders, after: &place)
      if case .refused(let error) = plan.decision { throw error }
    }

    /// - Returns: nil for a block that is not needed any more.
    private func compress(
      _ file: LargeFile, _ index: Int, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      guard file.needs(index), let range = file.plan.range(ofBlock: index) else { return nil }
      let writesAll = options.writesToStream || options.writesAll(file.decision)
      if !writesAll, !file.isPlain, isCompressed(file, context) {
        // Other blocks need not be compressed; the first one decides about the file.
        file.end(at: 0)
        guard index == 0 else { return nil }
        let row = try passOver(file.record, .compressedAlready, hasRival: file.hasRival, context)
        return .passedOver(file, row ?? LinkedSource.of(file.record).map { .failed($0) })
      }
      var start: LargeFileStart?
      do throws(BatchError) {
        if index == 0, !options.writesToStream { try requireWay(for: file) }
        // Releases the previous block first: two large blocks would take too much memory.
        content = []
        content = try [UInt8](upTo: range.count) { (room) throws(BatchError) in
          try context.read(file.record, ranges: [range], into: room, isCounted: false)
          return range.count
        }
        if index == 0 {
          start = try context.withFile(file.record) { (source, now) throws(BatchError) in
            try now.requireContent(of: file.record)
            return LargeFileStart(status: now, attributes: AttributeReader.attributes(of: source))
          }
        }
      } catch {
        try context.checkCancellation()
        file.end(at: index)
        return .failedBlock(file, Problem(error))
      }
      return .block(file, try compress(content, index), start)
    }
  }
}
