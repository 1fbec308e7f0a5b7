/// Decompresses the files of a tree whose names have a suffix that is known, one output for each.
public final class DecompressJob: BatchJob {
  /// What the operations of a chunk hand over to be told or linked.
  public enum Part: Sendable {
    case report(TransformReport)
    case link(FileRecord, first: FileRecord)
  }

  private let options: TransformOptions
  private let decoding: DecoderOptions
  private let committer: OutputCommitter
  private let folders: OutputFolders
  private let links: LinkLedger
  private let account: OutputAccount
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
    let folders = OutputFolders(options)
    self.folders = folders
    let links = LinkLedger(options, folders)
    self.links = links
    let account = OutputAccount(
      counters: runner.counters, observer: observer, policy: runner.options.policy)
    self.account = account
    committer = OutputCommitter(limit: options.staged, isSynced: options.isSynced) { output in
      account.done()
      links.committed(output)
    } failed: { _, error in
      account.spoilt(error)
    }
  }

  public func process(
    _ chunk: Chunk<DecompressItem>, in context: ChunkContext
  ) throws(BatchError) -> [Part] {
    let bench = try context.tool(of: self) { () throws(BatchError) in try DecompressBench(decoding) }
    var parts = [Part]()
    for item in chunk.items {
      switch item {
      case .file(let record):
        if let outcome = try decompress(record, bench, context) {
          parts.append(.report(TransformReport(source: record.path, outcome: outcome)))
        }
      case .link(let record, let first):
        if !reportsRival(of: record, context) { parts.append(.link(record, first: first)) }
      case .standardInput:
        try decompressStream(bench, context)
      case .problem(let problem):
        context.report(problem)
      }
    }
    return parts
  }

  public func collect(_ parts: [Part]) throws(BatchError) {
    for part in parts {
      switch part {
      case .report(let report): try self.report(report)
      case .link(let record, let first):
        guard let outcome = links.take(record, first: first) else {
          account.skipped()
          continue
        }
        if outcome == .upToDate { account.skipped() }
        try report(TransformReport(source: record.path, outcome: outcome))
      }
    }
  }

  /// Gives the last outputs their names, and links what has several. To be called after the run.
  public func finish() {
    committer.flush()
    links.finish(account)
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
      links.settled(record)
      context.skip()
      return .upToDate
    case .refused(let error):
      context.report(Problem(.unreadable, error))
      return nil
    }
    if reportsRival(of: record, context) { return nil }
    committer.reserve()
    do throws(BatchError) {
      if let outcome = try write(target, decision, record, bench, context) { return outcome }
      committer.release()
      return nil
    } catch {
      committer.release()
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error))
      return nil
    }
  }

  /// Whether another file beside a source is after the same output, which has been reported.
  private func reportsRival(of record: FileRecord, _ context: ChunkContext) -> Bool {
    guard let target = options.naming.target(of: record.path),
      let rival = OutputRivals.rival(of: record, target: target)
    else { return false }
    context.report(
      Problem(
        .unreadable,
        BatchError(.invalid, "has the same output as \(rival); neither is written", path: record.path)))
    return true
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
    var damage: CompressionDamage?
    let isRead = try context.readStandardInput(isCounted: false) { (piece) throws(BatchError) in
      var piece = piece
      var joined = [UInt8]()
      if decoder == nil {
        start.append(contentsOf: piece)
        guard start.count >= CompressionFormat.detectionLength || CompressionFormat.detect(start) != nil
        else {
          return
        }
        guard let format = CompressionFormat.detect(start) else {
          throw BatchError(.malformed, "is in no compressed format that is known", path: "-")
        }
        decoder = try format.makeDecoder(self.decoding)
        joined = start
      }
      _ = joined
      guard damage == nil, let decoder else { return }
      let sink: StreamDecoder.Sink = { (content) throws(BatchError) in try self.stream.write(Array(content)) }
      if joined.isEmpty {
        damage = try FileDecoder.damage { () throws(DecodingError) in try decoder.decode(piece, to: sink) }
      } else {
        damage = try withBytes(of: joined) { (raw) throws(BatchError) in
          piece = raw
          return try FileDecoder.damage { () throws(DecodingError) in try decoder.decode(piece, to: sink) }
        }
      }
    }
    guard isRead else { return }
    if damage == nil {
      damage =
        try decoder.map { (decoder) throws(BatchError) in
          try FileDecoder.damage { () throws(DecodingError) in try decoder.finish() }
        } ?? CompressionDamage(.truncated, offset: 0, goodBytes: 0)
    }
    if let damage {
      context.report(Problem(.unreadable, BatchError(.malformed, damage.message, path: "-")))
    } else {
      context.finish()
    }
  }
}
