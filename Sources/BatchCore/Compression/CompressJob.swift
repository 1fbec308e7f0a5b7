import BatchEngine
import Synchronization

/// Compresses the files of a tree, one output for each.
///
/// A small file is one output of one operation. The blocks of a large one are compressed by all lanes and
/// joined here in order. Outputs get their names by an ``OutputCommitter``.
public final class CompressJob: ChunkJob {
  /// What the operations of a chunk hand over to be told or joined.
  public enum Part: Sendable {
    case report(TransformReport)
    case block(LargeFile, index: Int, CompressedBlock)
    /// A block of a file that is not to be written; the outcome where that is to be told.
    case skippedBlock(LargeFile, index: Int, TransformOutcome?)
    case failedBlock(LargeFile, index: Int, Problem)
    case streamBlock(CompressedBlock)
    case link(FileRecord, first: FileRecord, OutputDecision)
  }

  private let format: CompressionFormat
  private let level: Int
  private let options: TransformOptions
  private let account: OutputAccount
  private let cancellation: Cancellation
  private let committer: OutputCommitter
  private let folders: OutputFolders
  private let assembly = Mutex<LargeOutput?>(nil)
  private let links: LinkLedger
  private let stream: StreamOutput
  private let report: @Sendable (TransformReport) throws(BatchError) -> Void

  /// - Parameters:
  ///   - run: whose counters and policies the job uses.
  ///   - observer: told of outputs that fail when they get their names.
  ///   - output: takes the blocks of standard input.
  ///   - report: told of every source, in tree order, before its output is safe.
  /// - Throws: `invalid` for a level that the format has not.
  public init(
    _ format: CompressionFormat, level: Int?, options: TransformOptions, run runner: RunContext,
    observer: any RunObserver, output: any ResultStream,
    report: @escaping @Sendable (TransformReport) throws(BatchError) -> Void
  ) throws(BatchError) {
    self.format = format
    self.level = try format.checkedLevel(level)
    self.options = options
    self.report = report
    cancellation = runner.cancellation
    let account = OutputAccount(
      counters: runner.counters, observer: observer, policy: runner.options.policy)
    self.account = account
    let folders = OutputFolders(options, kept: options.keptFolders, calls: runner.calls)
    self.folders = folders
    let links = LinkLedger(options, folders)
    self.links = links
    stream = StreamOutput(output, plan: try BlockPlan(format, level: level, fileSize: nil))
    committer = OutputCommitter(
      limit: options.staged, isSynced: options.isSynced, devices: folders.devices
    ) { output in
      account.done()
      links.committed(output)
    } failed: { _, error in
      account.spoilt(error)
    }
  }

  // MARK: On the lanes

  public var descriptors: Int { options.descriptorsOfLane }

  public func process(
    _ chunk: Chunk<CompressItem>, in context: ChunkContext
  ) throws(BatchError) -> [Part] {
    let cancellation = cancellation
    let bench = try context.tool(of: self) { () throws(BatchError) in
      try CompressBench(format, level: level) { () throws(BatchError) in try cancellation.check() }
    }
    defer { bench.place = nil }
    var parts = [Part]()
    for item in chunk.items {
      context.resultCount = parts.count
      switch item {
      case .file(let record):
        let outcome = try compress(record, bench, context)
        links.note(outcome, of: record)
        if let outcome {
          parts.append(.report(TransformReport(source: record.path, outcome: outcome)))
        }
      case .block(let file, let index):
        parts.append(try compress(file, index, bench, context))
      case .streamBlock(let bytes, let index):
        parts.append(.streamBlock(try compress(bytes, index, bench)))
      case .link(let record, let first):
        if let look = OutputLook(at: record, options, folders, &bench.place, context) {
          parts.append(.link(record, first: first, look.decision))
        }
      case .output(let record):
        context.skip()
        parts.append(.report(TransformReport(source: record.path, outcome: .compressedAlready)))
      case .repeated: context.skip()
      case .problem(let problem):
        context.report(problem)
      }
    }
    return parts
  }

  private func compress(_ bytes: [UInt8], _ index: Int, _ bench: CompressBench) throws(BatchError)
    -> CompressedBlock
  {
    try withBytes(of: bytes) { (raw) throws(BatchError) in try bench.codec.compress(block: raw, index: index)
    }
  }

  /// The outcome; nil when it has been reported as a problem.
  private func compress(
    _ record: FileRecord, _ bench: CompressBench, _ context: ChunkContext
  ) throws(BatchError) -> TransformOutcome? {
    guard let look = OutputLook(at: record, options, folders, &bench.place, context) else { return nil }
    let (target, decision) = (look.target ?? record.path, look.decision)
    switch decision {
    case .write, .rewrite: break
    case .upToDate(let output):
      links.settled(record, output)
      context.skip()
      return .upToDate
    case .refused(let error):
      context.report(Problem(.unreadable, error))
      return nil
    }
    guard let outcome = try bench.read(record, in: context) else { return nil }
    if !options.compressesAll, CompressedContent.isCompressed(start: Array(bench.content.prefix(64))) {
      context.skip()
      return .compressedAlready
    }
    bench.output.removeAll(keepingCapacity: true)
    try withBytes(of: bench.content) { (raw) throws(BatchError) in
      try bench.codec.compress(wholeFile: raw, into: &bench.output)
    }
    if !options.compressesAll, bench.output.count >= bench.content.count {
      context.skip()
      return .notSmaller
    }
    let removes = options.removesSource && outcome.isStable
    do throws(BatchError) {
      if let remark = try write(bench, to: look, of: record, outcome.status, removes: removes) {
        context.warn(Problem(.special, remark))
      }
    } catch {
      guard error.code != .cancelled else { throw error }
      context.report(Problem(.unreadable, error))
      return nil
    }
    return .written(
      target: target, plainSize: Int64(bench.content.count), compressedSize: Int64(bench.output.count))
  }

  /// - Returns: what to report of the output.
  private func write(
    _ bench: CompressBench, to look: OutputLook, of record: FileRecord, _ status: FileStatus, removes: Bool
  ) throws(BatchError) -> BatchError? {
    committer.reserve()
    do throws(BatchError) {
      let target = look.target ?? record.path
      let place = try folders.prepare(look.place)
      bench.place = place
      let folder = place.target ?? place.source
      let file = try AtomicFile(outputOf: status, at: target, in: folder, look.decision, options)
      let compressed = bench.output
      try file.write(compressed.span)
      if removes {
        let expected = try withBytes(of: bench.content) { (raw) throws(BatchError) in
          try bench.digest.digest(of: raw)
        }
        try OutputProof.prove(file, has: expected, bench.decoder, bench.digest, cancellation)
        if look.decision == .rewrite {
          try OutputProof.proveExisting(target, in: folder, has: expected, bench.decoder, bench.digest)
        }
      }
      let remark = try file.prepare(.init(of: status), attributes: bench.attributes)
      committer.add(StagedOutput(file, of: record, status, at: place, isProved: removes))
      return remark
    } catch {
      committer.release()
      throw error
    }
  }

  private func compress(
    _ file: LargeFile, _ index: Int, _ bench: CompressBench, _ context: ChunkContext
  ) throws(BatchError) -> Part {
    guard !file.isGivenUp, let range = file.plan.range(ofBlock: index) else {
      return .skippedBlock(file, index: index, nil)
    }
    do throws(BatchError) {
      var failure: BatchError?
      // The last block goes first: at the levels of large blocks two of them are too much.
      bench.content = []
      bench.content = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
        do throws(BatchError) {
          try context.read(file.record, range: range, into: UnsafeMutableRawBufferPointer(buffer))
          count = range.count
        } catch {
          failure = error
        }
      }
      if let failure { throw failure }
      if index == 0 {
        try context.withFile(file.record) { (source, now) throws(BatchError) in
          try now.requireContent(of: file.record)
          file.note(now, AttributeReader.attributes(of: source))
        }
      }
    } catch {
      try context.checkCancellation()
      file.giveUp()
      return .failedBlock(file, index: index, Problem(error))
    }
    if index == 0, !options.compressesAll,
      CompressedContent.isCompressed(start: Array(bench.content.prefix(64)))
    {
      file.giveUp()
      return .skippedBlock(file, index: index, .compressedAlready)
    }
    return .block(file, index: index, try compress(bench.content, index, bench))
  }

  // MARK: In order

  public func collect(_ parts: [Part]) throws(BatchError) {
    for part in parts {
      switch part {
      case .report(let report): try self.report(report)
      case .streamBlock(let block):
        try stream.append(block)
        account.counters.addBytes(block.plainCount)
      case .block(let file, let index, let block): try append(block, index, of: file)
      case .skippedBlock(let file, _, let outcome):
        abandon(file)
        guard let outcome else { continue }
        account.skipped()
        links.note(outcome, of: file.record)
        try report(TransformReport(source: file.record.path, outcome: outcome))
      case .failedBlock(let file, _, let problem):
        abandon(file)
        links.note(nil, of: file.record)
        if file.isFirstToTell() { account.failed(problem) }
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

  /// Finishes standard output and what is left to be named and linked. To be called after the run.
  ///
  /// - Throws: `unwritable` for standard output.
  public func finish() throws(BatchError) {
    committer.flush()
    links.finish(account)
    for error in folders.finish() { account.warn(error) }
    if try stream.finish() { account.done() }
  }

  /// Removes what was written and has not its name yet. To be called after a run that was stopped.
  public func discard() {
    assembly.withLock { current in
      current?.target.discard()
      current = nil
    }
    committer.discard()
    _ = folders.finish()
  }

  private func append(_ block: CompressedBlock, _ index: Int, of file: LargeFile) throws(BatchError) {
    let finished: TransformOutcome?
    do throws(BatchError) {
      finished = try assembly.withLock { (current) throws(BatchError) in
        if index == 0 {
          committer.reserve()
          do throws(BatchError) {
            current = try LargeOutput(file, options, folders)
          } catch {
            committer.release()
            throw error
          }
        }
        guard let output = current, output.file === file else { return nil }
        try output.append(block)
        guard index == file.blockCount - 1 else { return nil }
        current = nil
        return try finish(output)
      }
    } catch {
      file.giveUp()
      abandon(file)
      if error.code == .cancelled { throw error }
      links.note(nil, of: file.record)
      if file.isFirstToTell() {
        account.failed(Problem(error.code == .changed ? .changed : .unreadable, error))
      }
      return
    }
    if let finished {
      if finished == .notSmaller { account.skipped() }
      links.note(finished, of: file.record)
      try report(TransformReport(source: file.record.path, outcome: finished))
    }
  }

  private func finish(_ output: LargeOutput) throws(BatchError) -> TransformOutcome {
    do throws(BatchError) {
      let (size, remark) = try output.finish()
      if let remark { account.warn(remark) }
      if !options.compressesAll, size >= output.file.record.status.size {
        output.target.discard()
        committer.release()
        return .notSmaller
      }
      committer.add(options.removesSource ? try output.proved(format, cancellation) : output.staged())
      return .written(
        target: output.target.target, plainSize: output.file.record.status.size, compressedSize: size)
    } catch {
      output.target.discard()
      committer.release()
      throw error
    }
  }

  private func abandon(_ file: LargeFile) {
    assembly.withLock { current in
      guard let output = current, output.file === file else { return }
      output.target.discard()
      committer.release()
      current = nil
    }
  }
}
