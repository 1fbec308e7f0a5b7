import BatchCore
import BatchEngine

struct RestoreCommand: Command {
  private let choices: BackupChoices
  private let names: ChosenNames
  private let target: PathBytes
  private let strip: Int
  private let extraction: ExtractionOptions
  let session: Session
  private let tally: TransformTally
  private let made = MemberTally()

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    let from = parsed.bytes(.copyFrom)
    guard let directory = from ?? parsed.operands.first else {
      throw UsageError(
        "Missing expected argument '<directory>': where the snapshots are.", in: parsed.command)
    }
    choices = try BackupChoices(parsed, directory: directory)
    names = try ChosenNames(parsed.operands.dropFirst(from == nil ? 1 : 0), parsed)
    guard let target = parsed.bytes(.directory) else {
      throw UsageError("Missing expected option '-C <dir>': where to restore.", in: parsed.command)
    }
    self.target = target
    strip = parsed.count(.stripComponents) ?? 0
    var options = ExtractionOptions(parsed, common: common, isRoot: StandardStreams.isRoot)
    options.acceptsEqual = true
    options.restoresPrivileges = true
    options.makesDevices = StandardStreams.isRoot
    options.isDryRun = common.dryRun
    options.keepsOtherFoldersPrivate = true
    options.keepsGoing = !parsed.flag(.strict)
    extraction = options
    tally = TransformTally(namesEach: common.verbose || common.json)
    session = try Session(common, environment: environment, observing: tally.observing)
  }

  func run() throws(BatchError) -> Ending {
    let context = session.context
    let source = try self.source()
    defer { withExtendedLifetime(source) {} }
    let set = source.set
    let content = try source.content()
    for error in content.damaged { session.fail(error, severity: .warning) }
    let snapshot = try set.opened(choices.snapshot(of: content, in: set, session), in: context)
    let missing = content.faults(of: snapshot).filter { content.archives[$0] == nil }
    if let fault = missing.first, !extraction.keepsGoing || missing.count == snapshot.footer.needs.count {
      throw BatchError(
        .missing, "is missing, and the snapshot \(snapshot.name.stamp) needs it",
        path: set.path(fault.archive))
    }
    var options = extraction
    options.memory = context.options.memory
    let reader = try RestoreReader(
      snapshot, of: set, globs: names.texts, areNames: names.areNames, strip: strip, options: options,
      in: SourceContext(context))
    let unmatched = reader.unmatched
    if reader.doubtfulLinks > 0 {
      session.warn(
        BatchError(
          .special,
          "the manifest of an earlier version does not tell whether \(reader.doubtfulLinks) files are further names of others: they are restored as files of their own",
          path: set.path(snapshot.name.manifest)))
    }
    // A dry run shows what would be created below a folder that need not exist.
    if common.dryRun {
      try FolderMaker(calls: context.calls).checkLast(target)
    } else {
      try RestoreReader.makeTarget(target, in: context)
    }
    let selection = MemberSelection(strip: strip)
    let rows = common.dryRun ? PreviewRows(directory: target, selection: selection, session: session) : nil
    let job = try ExtractJob(into: target, selection: selection, options: options, in: session.context) {
      (report) throws(BatchError) in try session.report(report, tally, made, rows)
    }
    return finish(session.run(job, reading: reader), snapshot, unmatched)
  }

  /// - Throws: if a snapshot id was given instead of the directory, as in `restic restore latest`, with what to type.
  private func source() throws(BatchError) -> SetSource {
    do throws(BatchError) {
      return try SetSource(choices, locks: true, session)
    } catch {
      guard error.code == .missing, (try? SnapshotPlace(choices.directory)) != nil else { throw error }
      let id = TerminalText.string(choices.directory.bytes)
      throw BatchError(
        .missing, error.message, path: choices.directory, errno: error.errno,
        remedy: .advice("the directory of the snapshots comes first: 'batchproc restore DIR --at \(id)'"))
    }
  }

  private func finish(_ outcome: RunOutcome<Extraction>, _ snapshot: Snapshot, _ unmatched: [UnmatchedGlob])
    -> Ending
  {
    let summary = outcome.summary
    let refusal = tally.refusal(of: target)
    if summary.stopped != nil { tally.passOn() }
    if let ending = common.dryRun
      ? session.endingBeforeSummary(summary) : session.endingOfStopped(summary)
    {
      return ending
    }
    guard let extraction = outcome.result else { return .exit(.fatal) }
    if let failure = extraction.failure { session.reporter.fatal(failure) }
    if let refusal { session.reporter.fatal(refusal) }
    for remark in extraction.archive.remarks { session.warn(BatchError(.malformed, remark)) }
    for glob in unmatched { tally.met(glob.problem("nothing in the snapshot matches"), severity: .failure) }
    let counts = session.context.counters.snapshot
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "\(common.dryRun ? "would restore" : "restored") \(snapshot.name.stamp):", files: made.files,
        bytes: made.bytes, kinds: made.kinds,
        others: counts.unprocessed))
    let hasBadOutput = refusal != nil || extraction.failure != nil || tally.current.spoilt > 0
    if hasBadOutput || extraction.archive.isDamaged || extraction.archive.isCutShort {
      return .exit(.outputIncomplete)
    }
    if counts.done + counts.skipped == 0, counts.failed > 0 { return .exit(.fatal) }
    return .exit(
      ExitStatus(counts, hasUnmatched: !unmatched.isEmpty, isIncomplete: extraction.misdescribed > 0))
  }
}
