import BatchCore
import BatchEngine
import BatchOutputs

struct HashCommand: Command {
  private let options: HashOptions
  private let operands: [PathBytes]
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws(BatchError) {
    options = HashOptions(parsed)
    operands = parsed.operands
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    let writer = try options.writer()
    var walk = try session.walkOptions()
    // With cached digests the walk is most of the work.
    if options.usesCache { walk.readAheadThreshold = .zero }
    let file = try openFile()
    walk.excluded.formUnion(
      [file?.identity, options.output.flatMap(StandardStreams.identity), StandardStreams.outputFile]
        .compactMap { $0 })
    let operands = Operands(operands, lists: common.fileLists, run: session.context)
    let results = ResultWriter(session, to: file)
    if !results.writesEvents {
      var header = [UInt8]()
      writer.appendHeader(to: &header)
      if !header.isEmpty, !common.dryRun { try results.stream.write(header) }
    }
    let source = session.context.tree(operands.counted, options: walk)
    let total = operands.total(walk)
    if common.dryRun {
      let listing = DryRun(session: session, verb: "would hash", isNULEnded: options.endsRowsInNUL)
      return listing.run(over: source, total: total)
    }
    let rows = try results.writesEvents ? ManifestWriter(.json, algorithms: writer.algorithms) : writer
    let cache = options.usesCache ? session.cache(verifiedShare: options.verifiedShare) : nil
    let job = HashJob(algorithms: writer.algorithms, cache: cache) { (row, bytes) throws(BatchError) in
      try rows.append(row, to: &bytes)
    } output: { (rows) throws(BatchError) in
      try results.write(rows)
    }
    let summary = session.run(job, over: source, total: total).summary
    if let failure = cache?.finish() { session.diagnostics.report(failure, as: .warning) }
    return finish(summary, file, cache)
  }

  private func openFile() throws(BatchError) -> OutputFile? {
    guard let path = options.output, !common.dryRun else { return nil }
    return try OutputFile(
      path, isReplacing: options.replacesOutput, isSynced: common.fsync, in: session.context,
      terminalFilter: TerminalText.escapeControls)
  }

  private static func hasRows(_ manifest: PathBytes) -> Bool {
    guard let status = try? manifest.status(followingLinks: true) else { return false }
    return status.kind == .regular && status.size > 0
  }

  private func finish(_ summary: RunSummary, _ file: OutputFile?, _ cache: DigestCache?) -> Ending {
    if let ending = session.endingOfStopped(summary) {
      file?.discard()
      return ending
    }
    let counts = summary.counts
    let status = ExitStatus(counts)
    let isFatal = status == .fatal
    if let file, counts.done == 0, !isFatal, let path = options.output, Self.hasRows(path) {
      file.discard()
      session.reporter.fatal(
        BatchError(
          .missing, "not replaced: no file was found, and the manifest has rows", path: path,
          remedy: "mount the directory; or, if this is meant, remove the manifest first"))
      return .exit(.fatal)
    }
    do throws(BatchError) {
      if isFatal { file?.discard() } else { try (file ?? session.output).finish() }
    } catch {
      return session.ending(after: error)
    }
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "hashed", files: counts.done, bytes: counts.byteCount,
        others: [
          (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
          (counts.failed, "failed"), (cache?.knownCount ?? 0, "known"), (cache?.rottenCount ?? 0, "rotten"),
        ], tallies: cache.map { [($0.knownCount, "known"), ($0.rottenCount, "rot")] } ?? []))
    if let cache, cache.rottenCount > 0, !isFatal { return .exit(.differences) }
    return .exit(status)
  }
}
