import BatchEngine
import BatchOutputs

/// Decompresses the files of a tree whose names have a known suffix, one output for each.
package struct DecompressJob: BatchJob {
  package typealias Item = DecompressItem

  private let options: OutputOptions
  private let decoding: DecoderOptions
  private let parts = PartBudget()
  private let commits: any CommitCalls
  private let output: any ResultStream
  private let report: TransformCollector.Report
  private let asked: AskedItems<DecompressItem>?

  /// - Parameters:
  ///   - asked: those of the source; nil if an output that does not fit on the disk is not tried again.
  ///   - output: receives the content of standard input.
  ///   - report: receives every source, in tree order, when its output is committed.
  package init(
    _ options: OutputOptions, decoding: DecoderOptions, asked: AskedItems<DecompressItem>? = nil,
    output: any ResultStream, commits: any CommitCalls = LinuxCommitCalls(),
    report: @escaping TransformCollector.Report
  ) {
    self.asked = asked
    self.options = options
    self.decoding = decoding
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
    try Worker(FileDecoder(decoding, parts), outputs, stream: output, context)
  }

  package func makeCollector(
    in context: CollectorContext, sharing outputs: OutputStage
  ) -> sending TransformCollector {
    TransformCollector(
      outputs, again: asked.map { asked in { asked.ask(.again($0)) } }, in: context, report: report)
  }

  /// Decodes files.
  package final class Worker: BatchWorker {
    private let outputs: OutputStage
    private let decoder: FileDecoder
    private let content: ContentWriter
    private let proof: OutputProof<DecodedContent>
    private var attributes: [ExtendedAttribute] = []
    /// The place of the last source and its output; closed between chunks.
    private var place: OutputPlace?

    init(
      _ decoder: FileDecoder, _ outputs: OutputStage, stream: any ResultStream, _ context: WorkerContext
    ) throws(BatchError) {
      self.decoder = decoder
      self.outputs = outputs
      content = ContentWriter(decoder, to: stream)
      proof = OutputProof(
        nil, digest: try DigestStream(.xxh128), calls: context.calls, probe: context.laneProbe,
        by: context.reading)
    }

    private var options: OutputOptions { outputs.options }

    package func process(
      _ item: DecompressItem, in context: WorkerContext, into rows: inout [TransformRow]
    ) throws(BatchError) {
      switch item {
      case .file(let record, let target, let mayHaveRival):
        let row = try decompress(record, target, mayHaveRival: mayHaveRival, context)
        if let row {
          rows.append(row)
        } else if let source = LinkedSource.of(record) {
          rows.append(.failed(source))
        }
      case .other(let record): passOver(record, context)
      case .again(let source):
        let row = try decompress(source.record, source.target, mayHaveRival: false, context)
        rows.append(.retried(source, row))
      case .link(let name, let mayHaveRival):
        if mayHaveRival, reportsRival(of: name.record, name.target, context) { return }
        let plan = OutputPlan(for: name.record, target: name.target, outputs, after: &place, in: context)
        if let plan { rows.append(.link(name, plan.decision)) }
      case .standardInput where options.isDryRun:
        rows.append(context.plan("-", target: "-", size: 0))
      case .standardInput:
        if let sizes = try content.writeStandardInput(context) {
          rows.append(.streamed(plain: sizes.plain, compressed: sizes.compressed))
        }
      }
    }

    package func end(in context: WorkerContext, into rows: inout [TransformRow]) {
      place = nil
    }

    /// Skips a file without a known suffix in a folder; refuses one that is an operand.
    private func passOver(_ record: FileRecord, _ context: WorkerContext) {
      guard record.isOperand else { return context.skip(.unknownFormat) }
      let format = decoder.unsupportedFormat(of: record, in: context)
      let reason = format?.message ?? "unknown suffix; expected \(CompressionFormat.suffixes.list("or"))"
      context.report(Problem(.unreadable, BatchError(.invalid, reason, path: record.path)))
    }

    /// Whether another file beside a source has the same output, which has been reported.
    private func reportsRival(of record: FileRecord, _ target: PathBytes, _ context: WorkerContext) -> Bool {
      let rival = OutputRivals.rival(of: record, target: target, options.naming, calls: context.calls)
      guard let rival else { return false }
      context.report(
        Problem(
          .unreadable,
          BatchError(.invalid, "has the same output as \(rival); neither is written", path: record.path)))
      return true
    }

    /// - Returns: nil when it failed, which has been reported.
    private func decompress(
      _ record: FileRecord, _ target: PathBytes, mayHaveRival: Bool, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      guard let plan = OutputPlan(for: record, target: target, outputs, after: &place, in: context) else {
        return nil
      }
      if let rows = context.settled(record, plan.decision) { return rows.first }
      if mayHaveRival, reportsRival(of: record, target, context) { return nil }
      if case .compare(let output) = plan.decision { return try compare(record, with: output, plan, context) }
      if options.isDryRun {
        return context.start(of: record) == nil ? nil : context.plan(record, target: target)
      }
      try outputs.reserve()
      do throws(BatchError) {
        if let row = try write(plan, record, context) { return row }
        outputs.release()
        return nil
      } catch {
        outputs.release()
        guard error.code != .cancelled else { throw error }
        let source = UnwrittenSource(failed: error, record, target: target, options)
        if let source { return .unwritten(source) }
        context.report(Problem(.unreadable, error.path == nil ? error.at(record.path) : error))
        return nil
      }
    }

    /// Compares a file that has the time of its source with what the source decodes to.
    ///
    /// - Returns: nil when it failed, which has been reported.
    private func compare(
      _ record: FileRecord, with output: FileIdentity, _ plan: OutputPlan, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      var gap: CheckGap?
      let row = try proof.compare(record, with: output, plan, outputs, in: context, kept: &place) {
        () throws(BatchError) -> (status: FileStatus, isStable: Bool)? in
        var read = record.status
        let outcome = try decoder.decode(record, in: context) { (_, status) throws(BatchError) in
          read = status
          proof.digest.reset()
        } sink: { (piece) throws(BatchError) in
          try proof.digest.update(piece)
        }
        switch outcome {
        case .unreadable: return nil
        case .unsupported(let format):
          context.report(Problem(.unreadable, BatchError(.invalid, format.message, path: record.path)))
          return nil
        case .decoded(_, let isStable, let found):
          gap = found
          return (read, isStable)
        case .damaged(let damage, _):
          context.report(Problem(.unreadable, BatchError(.malformed, damage.message, path: record.path)))
          return nil
        }
      }
      guard case .output(var report, let staged) = row else { return row }
      report.checkGap = gap
      return .output(report, staged)
    }

    /// - Returns: nil when it failed, which has been reported.
    private func write(
      _ plan: OutputPlan, _ record: FileRecord, _ context: WorkerContext
    ) throws(BatchError) -> TransformRow? {
      var file: AtomicFile?
      var size: Int64 = 0
      let place = try outputs.folders.prepare(plan.place)
      self.place = place
      let folder = place.outputFolder
      var read = record.status
      let outcome = try decoder.decode(record, in: context) { (source, status) throws(BatchError) in
        read = status
        attributes = AttributeReader.attributes(of: source)
        file?.discard()
        size = 0
        proof.digest.reset()
        file = try AtomicFile(
          outputOf: status, at: plan.target, in: folder, replacing: plan.decision.isReplacing,
          isSynced: options.isSynced)
      } sink: { (piece) throws(BatchError) in
        size += Int64(piece.count)
        if options.removesSource { try proof.digest.update(piece) }
        try file?.writeSparse(piece)
      }
      guard let file else { return nil }
      var removes = options.removesSource
      var report = TransformReport(
        source: record.path,
        outcome: .written(target: plan.target, plainSize: size, compressedSize: read.size))
      report.hasReplaced = plan.decision.isReplacing
      switch outcome {
      case .unreadable:
        file.discard()
        return nil
      case .unsupported(let format):
        file.discard()
        context.report(Problem(.unreadable, BatchError(.invalid, format.message, path: record.path)))
        return nil
      case .decoded(_, let isStable, let gap):
        report.checkGap = gap
        removes = removes && isStable
      case .damaged(let damage, let format):
        guard ContentWriter.report(damage, of: record.path, in: format, context) else {
          file.discard()
          return nil
        }
        removes = false
      }
      try file.finishSparse(size: size)
      if removes {
        let expected = try proof.digest.finish()
        try proof.prove(file, has: expected)
      }
      if let remark = try file.prepare(.init(of: read), attributes: attributes) {
        context.warn(Problem(.special, remark))
      }
      return .output(report, outputs.add(file, of: record, read, at: place, isProved: removes))
    }
  }
}
