import BatchCore
import BatchEngine
import BatchOutputs

struct ArchiveCommand: Command {
  private let choices: ArchiveChoices
  private let operands: [PathBytes]
  let session: Session
  private let tally = MemberTally()

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment) throws {
    choices = try ArchiveChoices(parsed, environment: environment)
    if common.json, !common.dryRun, choices.output == nil {
      throw UsageError(
        "--json cannot be used with -o -: standard output carries the archive.", in: parsed.command)
    }
    operands = parsed.operands
    session = try Session(
      common, environment: environment, stride: choices.options.format.stride(count: common.stride),
      laneMemory: try choices.options.memoryOfLane())
  }

  func run() throws(BatchError) -> Ending {
    try checkStreams()
    // Determined before the folder is changed: the file that the output replaces, and the places of the lists.
    var walk = try session.walkOptions(forAllBut: [])
    if let replaced = try replaced() { walk.excluded.insert(replaced) }
    let lists = common.fileLists.map { list in
      CommonOptions.FileList(path: WorkingFolder.absolute(list.path), isNULEnded: list.isNULEnded)
    }
    let file = try openFile()
    if let identity = file?.identity { walk.excluded.insert(identity) }
    if let directory = choices.directory { try WorkingFolder.enter(directory) }
    let operands = Operands(operands, lists: lists, run: session.context)
    let total = operands.total(walk)
    let tree = session.context.tree(operands.counted, options: walk)
    let options = choices.options
    if common.dryRun { return try preview(tree, options, total: total) }
    let encrypted = try choices.lock.map { (lock) throws(BatchError) in
      let concurrency = session.context.concurrency
      return try EncryptedOutput(file ?? session.output, for: lock) { concurrency.current }
    }
    let job = ArchiveJob(options, output: encrypted ?? file ?? session.output) {
      (members) throws(BatchError) in
      tally.add(members)
      try session.tell(members)
    }
    let source = try ArchiveSource(tree, options: options)
    var failure: BatchError?
    var verified: Int?
    let outcome = session.run(job, over: source, total: total)
    var size: Int64?
    if let written = outcome.result {
      do throws(BatchError) {
        try encrypted?.seal()
        size = try file?.size()
        if !cameToNothing(outcome.summary.counts) { verified = try complete(file, encrypted, written) }
      } catch {
        failure = error
      }
    }
    return finish(outcome.summary, file, failure, size: size, verified: verified, operands)
  }

  /// - Throws: `invalid` when the archive would go to a terminal.
  private func checkStreams() throws(BatchError) {
    guard choices.output == nil, !common.dryRun else { return }
    guard !choices.replacesOutput, StandardStreams.isTerminal(.output) else { return }
    throw BatchError(
      .invalid, "an archive is not written to a terminal", remedy: "redirect standard output, or give --force"
    )
  }

  /// The file that the output replaces, which must not be archived.
  private func replaced() throws(BatchError) -> FileIdentity? {
    guard let path = choices.output else { return nil }
    if StandardStreams.linkCount(of: path) > 1 {
      throw BatchError(
        .invalid, "cannot write the output: it is a file with further names", path: path,
        remedy: "remove it first")
    }
    return StandardStreams.identity(of: path)
  }

  private func openFile() throws(BatchError) -> OutputFile? {
    guard let path = choices.output else { return nil }
    guard !choices.isVerified || !OutputFile.isDevice(path) else {
      throw BatchError(.invalid, "is a pipe or a device: --verify cannot read it back", path: path)
    }
    guard !common.dryRun else {
      try OutputFile.check(path, isReplacing: choices.replacesOutput, in: session.context)
      return nil
    }
    try FolderMaker(calls: session.context.calls, isSynced: common.fsync).makeLast(path.parent)
    let file = try OutputFile(
      path, isReplacing: choices.replacesOutput, isSynced: common.fsync, in: session.context)
    guard choices.replacesOutput || !file.isTerminal else {
      throw BatchError(
        .invalid, "an archive is not written to a terminal", path: path, remedy: "give --force")
    }
    return file
  }

  /// Lists and counts the files that would be archived.
  private func preview(
    _ tree: sending TreeSource, _ options: ArchiveOptions, total: ResultOperation<Counters.Snapshot>?
  ) throws(BatchError) -> Ending {
    let results = ResultWriter(session)
    let job = ArchivePreviewJob(options) { [tally] (record, entry, bytes) in
      tally.add(entry.kind, entry.size)
      results.append(name: record.path, to: &bytes)
    } output: { (rows) throws(BatchError) in
      try results.write(rows)
    }
    let summary = session.run(job, over: try ArchiveSource(tree, options: options), total: total).summary
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let counts = summary.counts
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "would archive", files: tally.files, bytes: tally.bytes, kinds: tally.kinds,
        others: counts.unprocessed))
    return .exit(cameToNothing(counts) ? .fatal : counts.failed > 0 ? .someFailed : .success)
  }

  /// Whether the archive would be empty although there were paths.
  private func cameToNothing(_ counts: Counters.Snapshot) -> Bool {
    counts.done == 0 && (counts.failed > 0 || counts.missing > 0)
  }

  /// Reads the archive back, if its content was recorded, and renames it to its final name if that succeeded.
  ///
  /// - Returns: how many members were compared; nil if none were compared.
  private func complete(
    _ file: OutputFile?, _ encrypted: EncryptedOutput?, _ written: WrittenArchive?
  ) throws(BatchError) -> Int? {
    guard let file else {
      try session.output.finish()
      return nil
    }
    let verified = try written.map { (written) throws(BatchError) in
      try ArchiveReadBack(session: session).compare(file, encrypted, with: written)
    }
    try file.finish()
    return verified
  }

  private func finish(
    _ summary: RunSummary, _ file: OutputFile?, _ failure: BatchError?, size: Int64?,
    verified: Int?, _ operands: Operands
  ) -> Ending {
    let summary = RunSummary(
      counts: summary.counts, stopped: summary.stopped ?? (failure?.code == .cancelled ? failure : nil),
      elapsed: summary.elapsed, concurrency: summary.concurrency)
    if let ending = session.endingOfStopped(summary) {
      file?.discard()
      return ending
    }
    let counts = session.context.counters.snapshot
    let isFatal = cameToNothing(counts)
    if isFatal || failure != nil { file?.discard() }
    if let failure { return session.ending(after: failure) }
    session.reporter.summary(
      RunSummary(
        counts: counts, stopped: summary.stopped, elapsed: summary.elapsed, concurrency: summary.concurrency),
      text: SummaryText(
        verb: "archived", files: tally.files, bytes: tally.bytes, output: isFatal ? nil : size,
        kinds: tally.kinds,
        others: [
          (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
          (counts.failed, "failed"), (verified ?? 0, "verified"),
        ], tallies: verified.map { [($0, "verified")] } ?? []))
    return .exit(isFatal ? .fatal : counts.failed > 0 ? .someFailed : .success)
  }
}
