import BatchEngine

/// Decompresses the files of a tree whose names have a suffix that is known, one output for each.
public final class DecompressJob: ChunkJob {
  /// What the operations of a chunk hand over to be told or linked.
  public enum Part: Sendable {
    case report(TransformReport)
    case link(FileRecord, first: FileRecord, OutputDecision)
  }

  private let options: TransformOptions
  private let decoding: DecoderOptions
  private let parts = PartBudget()
  private let committer: OutputCommitter
  private let folders: OutputFolders
  private let links: LinkLedger
  private let account: OutputAccount
  private let stream: any ResultStream
  private let report: @Sendable (TransformReport) throws(BatchError) -> Void

  /// - Parameters:
  ///   - run: whose counters the job uses.
  ///   - observer: told of outputs that fail when they get their names.
  ///   - output: takes the content of standard input.
  ///   - report: told of every source, in tree order, before its output is safe.
  public init(
    _ options: TransformOptions, decoding: DecoderOptions, run runner: RunContext, observer: any RunObserver,
    output: any ResultStream, report: @escaping @Sendable (TransformReport) throws(BatchError) -> Void
  ) {
    self.options = options
    self.decoding = decoding
    self.report = report
    stream = output
    let folders = OutputFolders(options, kept: options.keptFolders, calls: runner.calls)
    self.folders = folders
    let links = LinkLedger(options, folders)
    self.links = links
    let account = OutputAccount(
      counters: runner.counters, observer: observer, policy: runner.options.policy)
    self.account = account
    committer = OutputCommitter(
      limit: options.staged, isSynced: options.isSynced, devices: folders.devices
    ) { output in
      account.done()
      links.committed(output)
    } failed: { _, error in
      account.spoilt(error)
    }
  }

  public var descriptors: Int { options.descriptorsOfLane }

  public func process(
    _ chunk: Chunk<DecompressItem>, in context: ChunkContext
  ) throws(BatchError) -> [Part] {
    let bench = try context.tool(of: self) { () throws(BatchError) in
      try DecompressBench(decoding, self.parts)
    }
    defer { bench.place = nil }
    var parts = [Part]()
    for item in chunk.items {
      context.resultCount = parts.count
      switch item {
      case .file(let record, let mayHaveRival):
        bench.checkGap = nil
        let outcome = try decompress(record, mayHaveRival: mayHaveRival, bench, context)
        links.note(outcome, of: record)
        if let outcome {
          parts.append(
            .report(TransformReport(source: record.path, outcome: outcome, checkGap: bench.checkGap)))
        }
      case .link(let record, let first, let mayHaveRival):
        if mayHaveRival, reportsRival(of: record, context) { continue }
        if let look = OutputLook(at: record, options, folders, &bench.place, context) {
          parts.append(.link(record, first: first, look.decision))
        }
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
      case .link(let record, let first, let decision):
        guard let outcome = links.take(record, first: first, decision) else {
          account.skipped()
          continue
        }
        if !outcome.isLinked { account.skipped() }
        try report(TransformReport(source: record.path, outcome: outcome))
      }
    }
  }

  /// Gives the last outputs their names, and links what has several. To be called after the run.
  public func finish() {
    committer.flush()
    links.finish(account)
    for error in folders.finish() { account.warn(error) }
  }

  /// Removes what was written and has not its name yet. To be called after a run that was stopped.
  public func discard() {
    committer.discard()
    _ = folders.finish()
  }

  private func decompress(
    _ record: FileRecord, mayHaveRival: Bool, _ bench: DecompressBench, _ context: ChunkContext
  ) throws(BatchError) -> TransformOutcome? {
    guard options.naming.target(of: record.path) != nil else {
      if record.isOperand {
        let reason =
          bench.decoder.unsupportedFormat(of: record, in: context)?.message ?? "has no suffix that is known"
        context.report(Problem(.unreadable, BatchError(.invalid, reason, path: record.path)))
      } else {
        context.skip()
      }
      return nil
    }
    guard let look = OutputLook(at: record, options, folders, &bench.place, context) else { return nil }
    switch look.decision {
    case .write, .rewrite: break
    case .upToDate(let output):
      links.settled(record, output)
      context.skip()
      return .upToDate
    case .refused(let error):
      context.report(Problem(.unreadable, error))
      return nil
    }
    if mayHaveRival, reportsRival(of: record, context) { return nil }
    committer.reserve()
    do throws(BatchError) {
      if let outcome = try write(look, record, bench, context) { return outcome }
      committer.release()
      return nil
    } catch {
      committer.release()
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error.path == nil ? error.at(record.path) : error))
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
    _ look: OutputLook, _ record: FileRecord, _ bench: DecompressBench, _ context: ChunkContext
  ) throws(BatchError) -> TransformOutcome? {
    var file: AtomicFile?
    var size: Int64 = 0
    let target = look.target ?? record.path
    let place = try folders.prepare(look.place)
    bench.place = place
    let folder = place.target ?? place.source
    var read = record.status
    let outcome = try bench.decoder.decode(record, in: context) { (source, status) throws(BatchError) in
      read = status
      bench.attributes = AttributeReader.attributes(of: source)
      file?.discard()
      size = 0
      bench.digest.reset()
      file = try AtomicFile(outputOf: status, at: target, in: folder, look.decision, self.options)
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
    case .unsupported(let format):
      file.discard()
      context.report(Problem(.unreadable, BatchError(.invalid, format.message, path: record.path)))
      return nil
    case .decoded(_, let isStable, let gap):
      bench.checkGap = gap
      removes = removes && isStable
    case .damaged(let damage, let format):
      let problem = Problem(.unreadable, BatchError(.malformed, damage.message, path: record.path))
      guard Self.isPassedOver(damage, in: format) else {
        file.discard()
        context.report(problem)
        return nil
      }
      removes = false
      context.warn(problem)
    }
    try file.finishSparse(size: size)
    if removes {
      let expected = try bench.digest.finish()
      try file.readBack { (piece) throws(BatchError) in try bench.digest.update(piece) }
      guard try bench.digest.finish() == expected else {
        throw BatchError(
          .unwritable, "the output that was read back differs from what was decoded", path: target)
      }
      if look.decision == .rewrite {
        try OutputProof.proveExisting(target, in: folder, has: expected, nil, bench.digest)
      }
    }
    if let remark = try file.prepare(.init(of: read), attributes: bench.attributes) {
      context.warn(Problem(.special, remark))
    }
    committer.add(StagedOutput(file, of: record, read, at: place, isProved: removes))
    return .written(target: target, plainSize: size, compressedSize: read.size)
  }

  private func decompressStream(_ bench: DecompressBench, _ context: ChunkContext) throws(BatchError) {
    let outcome: FileDecoder.Outcome
    do throws(BatchError) {
      outcome = try bench.decoder.decodeStandardInput(in: context) { (piece) throws(BatchError) in
        try stream.write(Array(piece))
      }
    } catch {
      // What the decoder cannot do; standard output that fails ends the run.
      guard [.invalid, .exhausted].contains(error.code) else { throw error }
      context.report(Problem(.unreadable, error.at("-")))
      return
    }
    switch outcome {
    case .unreadable: break
    case .unsupported(let format):
      context.report(Problem(.unreadable, BatchError(.invalid, format.message, path: "-")))
    case .decoded: context.finish()
    case .damaged(let damage, _) where damage.kind == .notCompressed:
      context.report(
        Problem(.unreadable, BatchError(.malformed, "is in no compressed format that is known", path: "-")))
    case .damaged(let damage, let format):
      let problem = Problem(.unreadable, BatchError(.malformed, damage.message, path: "-"))
      if Self.isPassedOver(damage, in: format) {
        context.warn(problem)
        context.finish()
      } else {
        context.report(problem)
      }
    }
  }

  /// Whether content is whole all the same, as the stock tool has it: the members are, and what follows is named.
  private static func isPassedOver(_ damage: CompressionDamage, in format: CompressionFormat?) -> Bool {
    format?.mayHaveGarbage == true && damage.kind == .garbageAfterEnd
  }
}
