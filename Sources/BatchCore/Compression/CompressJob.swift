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

  package func makeShared(in context: CollectorContext) -> OutputStage {
    OutputStage(options, commits, in: context)
  }

  package func makeWorker(
    in context: WorkerContext, sharing outputs: OutputStage
  ) throws(BatchError) -> Worker {
    let probe = context.laneProbe
    let codec: any CodecContext =
      if let transform {
        TransformContext(transform)
      } else {
        try format.makeContext(level: level) { () throws(BatchError) in try probe.check() }
      }
    return try Worker(format, level: level, codec: codec, outputs: outputs, in: context)
  }

  package func makeCollector(
    in context: CollectorContext, sharing outputs: OutputStage
  ) throws(BatchError) -> sending TransformCollector {
    TransformCollector(
      outputs, stream: StreamOutput(output, try BlockPlan(format, level: level, fileSize: nil)), asked: asked,
      again: asked.map { asked in { asked.ask(.again($0)) } }, in: context, report: report)
  }

  /// Compresses files and blocks, with a codec, a digest, and two reusable buffers.
  package final class Worker: BatchWorker {
    /// Larger files are read in pieces, between which a run can be stopped.
    private static let largestPiece = 8 << 20

    let outputs: OutputStage
    let format: CompressionFormat
    let level: Int
    let codec: any CodecContext
    let proof: OutputProof<DecodedContent>
    var content: [UInt8] = []
    private var compressed: [UInt8] = []
    private var attributes: [ExtendedAttribute] = []
    /// The place of the last source and its output; closed between chunks.
    var place: OutputPlace?

    init(
      _ format: CompressionFormat, level: Int, codec: any CodecContext, outputs: OutputStage,
      in context: WorkerContext
    ) throws(BatchError) {
      self.outputs = outputs
      self.format = format
      self.level = level
      self.codec = codec
      proof = OutputProof(
        try format.makeDecoder(by: context.reading), digest: try DigestStream(.xxh128), calls: context.calls,
        probe: context.laneProbe, by: context.reading)
    }

    var options: OutputOptions { outputs.options }

    package func process(
      _ item: CompressItem, in context: WorkerContext, into rows: inout [TransformRow]
    ) throws(BatchError) {
      switch item {
      case .file(let record, let target, let hasRival):
        if let row = try compress(record, target, hasRival: hasRival, context) {
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
      case .again(let source): rows.append(.retried(source, try retry(source, context)))
      case .link(let name):
        let plan = OutputPlan(for: name.record, target: name.target, outputs, after: &place, in: context)
        if let plan { rows.append(.link(name, plan.decision)) }
      case .compressed(let record):
        if let row = try passOver(record, .compressedAlready, hasRival: false, context) { rows.append(row) }
      case .repeated: context.skip(.repeated)
      }
    }

    package func end(in context: WorkerContext, into rows: inout [TransformRow]) {
      place = nil
    }

    /// Skips or copies a source that gets no compressed output.
    ///
    /// - Returns: nil when it failed, which has been reported.
    func passOver(
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
        return try failed(error, record, target: options.naming.target(of: record.path) ?? target, context)
      }
    }

    /// - Returns: a row if the output may succeed later; otherwise the failure has been reported.
    func failed(
      _ error: BatchError, _ record: FileRecord, target: PathBytes, hasRival: Bool = false,
      _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      guard error.code != .cancelled else { throw error }
      let source = UnwrittenSource(failed: error, record, target: target, hasRival: hasRival, options)
      if let source { return .unwritten(source) }
      context.report(Problem(.unreadable, error.path == nil ? error.at(record.path) : error))
      return nil
    }

    // MARK: Small files

    /// - Returns: nil when it failed, which has been reported.
    func compress(
      _ record: FileRecord, _ target: PathBytes, hasRival: Bool, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      if options.writesToStream {
        guard !options.isDryRun else { return context.plan(record, target: record.path) }
        return try compressToStream(record, context)
      }
      guard let plan = OutputPlan(for: record, target: target, outputs, after: &place, in: context) else {
        return nil
      }
      if let rows = context.settled(record, plan.decision) { return rows.first }
      if case .compare(let output) = plan.decision { return try compare(record, with: output, plan, context) }
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
        return try failed(error, record, target: target, hasRival: hasRival, context)
      }
    }

    /// Compares an output that has the time of its source, which is removed afterwards.
    ///
    /// - Returns: nil when it failed, which has been reported.
    func compare(
      _ record: FileRecord, with output: FileIdentity, _ plan: OutputPlan, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      try proof.compare(record, with: output, plan, outputs, in: context, kept: &place) {
        () throws(BatchError) -> (status: FileStatus, isStable: Bool)? in
        let outcome = try context.read(record, isCounted: false) { () throws(BatchError) in
          proof.digest.reset()
        } consume: { (piece) throws(BatchError) in
          try proof.digest.update(piece)
        }
        return outcome.map { ($0.status, $0.isStable) }
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
        let metadata = AtomicFile.Metadata(of: outcome.status, mark: removes ? .removed : .kept)
        if removes {
          let expected = try withBytes(of: content) { (raw) throws(BatchError) in
            try proof.digest.digest(of: raw)
          }
          try proof.prove(file, has: expected)
        }
        let remark = try file.prepare(metadata, attributes: attributes)
        return (outputs.add(file, of: record, outcome.status, at: place, isProved: removes), remark)
      } catch {
        outputs.release()
        throw error
      }
    }
  }
}
