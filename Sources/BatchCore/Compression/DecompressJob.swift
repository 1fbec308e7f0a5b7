/// Decompresses the files of a tree whose names have a suffix that is known, one output for each.
public final class DecompressJob: BatchJob {
  private let options: TransformOptions
  private let decoding: DecoderOptions
  private let committer: OutputCommitter
  private let folders: OutputFolders
  private let stream: any ResultStream
  private let report: @Sendable (TransformReport) throws(BatchError) -> Void

  /// - Parameters:
  ///   - runner: whose counters the job uses.
  ///   - observer: told of outputs that fail when they get their names.
  ///   - output: takes the content of standard input.
  ///   - report: told of every source, in tree order, before its output is safe.
  public init(
    _ options: TransformOptions, decoding: DecoderOptions, runner: BatchRunner, observer: any RunObserver,
    output: any ResultStream, report: @escaping @Sendable (TransformReport) throws(BatchError) -> Void
  ) {
    self.options = options
    self.decoding = decoding
    self.report = report
    stream = output
    folders = OutputFolders(options)
    let counters = runner.counters
    committer = OutputCommitter(limit: options.staged, isSynced: options.isSynced) { _ in
      counters.addDone()
    } failed: { _, error in
      counters.addFailed()
      observer.met(Problem(.unreadable, error), severity: .failure)
    }
  }

  public func process(
    _ chunk: Chunk<WalkItem>, in context: ChunkContext
  ) throws(BatchError) -> [TransformReport] {
    let bench = try context.tool(of: self) { () throws(BatchError) in try DecompressBench(decoding) }
    var reports = [TransformReport]()
    for item in chunk.items {
      switch item {
      case .file(let record):
        if let outcome = try decompress(record, bench, context) {
          reports.append(TransformReport(source: record.path, outcome: outcome))
        }
      case .standardInput:
        try decompressStream(bench, context)
      case .problem(let problem):
        context.report(problem)
      }
    }
    return reports
  }

  public func collect(_ reports: [TransformReport]) throws(BatchError) {
    for report in reports { try self.report(report) }
  }

  /// Gives the last outputs their names. To be called after the run.
  public func finish() {
    committer.flush()
  }

  /// Removes what was written and has not its name yet. To be called after a run that was stopped.
  public func discard() {
    committer.discard()
  }

  private func decompress(
    _ record: FileRecord, _ bench: DecompressBench, _ context: ChunkContext
  ) throws(BatchError) -> TransformOutcome? {
    guard let target = options.naming.target(of: record.path) else {
      if record.isOperand {
        context.report(
          Problem(.unreadable, BatchError(.invalid, "has no suffix that is known", path: record.path)))
      } else {
        context.skip()
      }
      return nil
    }
    let decision = OutputDecision.of(target, for: record, options)
    switch decision {
    case .write, .rewrite: break
    case .upToDate:
      context.skip()
      return .upToDate
    case .refused(let error):
      context.report(Problem(.unreadable, error))
      return nil
    }
    if let rival = OutputRivals.rival(of: record.path, target: target) {
      context.report(
        Problem(
          .unreadable,
          BatchError(.invalid, "has the same output as \(rival); neither is written", path: record.path)))
      return nil
    }
    committer.reserve()
    do throws(BatchError) {
      if let outcome = try write(target, decision, record, bench, context) { return outcome }
      committer.release()
      return nil
    } catch {
      committer.release()
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error.path == nil ? error.at(record.path) : error))
      return nil
    }
  }

  /// nil when what went wrong has been reported.
  private func write(
    _ target: PathBytes, _ decision: OutputDecision, _ record: FileRecord, _ bench: DecompressBench,
    _ context: ChunkContext
  ) throws(BatchError) -> TransformOutcome? {
    var file: AtomicFile?
    var size: Int64 = 0
    try folders.prepare(for: target)
    let outcome = try bench.decoder.decode(record, in: context) { () throws(BatchError) in
      file?.discard()
      size = 0
      bench.digest.reset()
      file = try AtomicFile(at: target, replacing: decision.isReplacing)
    } sink: { (piece) throws(BatchError) in
      size += Int64(piece.count)
      if self.options.removesSource { try bench.digest.update(piece) }
      try file?.writeSparse(piece)
    }
    guard let file else { return nil }
    var removes = options.removesSource
    switch outcome {
    case .unreadable:
      file.discard()
      return nil
    case .decoded(_, let isStable):
      removes = removes && isStable
    case .damaged(let damage):
      let error = BatchError(.malformed, damage.message, path: record.path)
      guard damage.kind == .garbageAfterEnd, record.path.bytes.suffix(3).elementsEqual(".gz".utf8) else {
        file.discard()
        context.report(Problem(.unreadable, error))
        return nil
      }
      // As gunzip does: the members are whole, and what follows them is named and passed over.
      removes = false
      context.warn(Problem(.unreadable, error))
    }
    try file.finishSparse(size: size)
    if removes {
      let expected = try bench.digest.finish()
      try file.readBack { (piece) throws(BatchError) in try bench.digest.update(piece) }
      guard try bench.digest.finish() == expected else {
        throw BatchError(
          .unwritable, "the output that was read back differs from what was decoded", path: target)
      }
      if decision == .rewrite {
        try OutputProof.proveExisting(target, has: expected, nil, bench.digest)
      }
    }
    try file.prepare(.init(of: record.status), attributesOf: record.path)
    committer.add(StagedOutput(file: file, source: record, isProved: removes))
    return .written(target: target, plainSize: size, compressedSize: record.status.size)
  }

  private func decompressStream(_ bench: DecompressBench, _ context: ChunkContext) throws(BatchError) {
    var decoder: StreamDecoder?
    var start = [UInt8]()
    let sink: StreamDecoder.Sink = { (content) throws(BatchError) in try self.stream.write(Array(content)) }
    do throws(BatchError) {
      let isRead = try context.readStandardInput(isCounted: false) { (piece) throws(BatchError) in
        if let decoder { return try Self.decode(piece, decoder, to: sink) }
        start.append(contentsOf: piece)
        guard start.count >= CompressionFormat.detectionLength else { return }
        decoder = try self.begin(start, to: sink)
      }
      guard isRead else { return }
      if decoder == nil, !start.isEmpty { decoder = try begin(start, to: sink) }
      let damage =
        try decoder.map { (decoder) throws(BatchError) in
          try FileDecoder.damage { () throws(DecodingError) in try decoder.finish() }
        } ?? CompressionDamage(.truncated, offset: 0, goodBytes: 0)
      if let damage { throw Self.error(damage) }
      context.finish()
    } catch {
      // Damage ends the reading: nobody knows whether a stream ends by itself.
      guard [.malformed, .invalid, .exhausted].contains(error.code) else { throw error }
      context.report(Problem(.unreadable, error.at("-")))
    }
  }

  /// Tells the format by the first bytes of a stream and decodes them.
  private func begin(_ start: [UInt8], to sink: StreamDecoder.Sink) throws(BatchError) -> StreamDecoder {
    guard let format = CompressionFormat.detect(start) else {
      throw BatchError(.malformed, "is in no compressed format that is known", path: "-")
    }
    let decoder = try format.makeDecoder(decoding)
    try withBytes(of: start) { (raw) throws(BatchError) in try Self.decode(raw, decoder, to: sink) }
    return decoder
  }

  private static func decode(
    _ piece: UnsafeRawBufferPointer, _ decoder: StreamDecoder, to sink: StreamDecoder.Sink
  ) throws(BatchError) {
    let damage = try FileDecoder.damage { () throws(DecodingError) in try decoder.decode(piece, to: sink) }
    if let damage { throw error(damage) }
  }

  private static func error(_ damage: CompressionDamage) -> BatchError {
    BatchError(.malformed, damage.message, path: "-")
  }
}
