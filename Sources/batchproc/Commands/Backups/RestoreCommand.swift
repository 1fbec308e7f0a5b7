import BatchCore
import BatchEngine
import BatchOutputs

struct RestoreCommand: Command {
  private let choices: BackupChoices
  private let names: ChosenNames
  private let target: PathBytes
  private let strip: Int
  private let removal: RemovalLimit?
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
    removal =
      parsed.flag(.delete) ? RemovalLimit(mostFiles: parsed.count(.mostDeleted)) : nil
    if removal == nil, parsed.count(.mostDeleted) != nil {
      throw UsageError("--max-delete needs --delete.", in: parsed.command)
    }
    if parsed.typed.isSuperset(of: [.strict, .keepGoing]) {
      throw UsageError("--strict cannot be used with --keep-going.", in: parsed.command)
    }
    if removal != nil, strip > 0 {
      throw UsageError("--delete cannot be used with --strip-components.", in: parsed.command)
    }
    var options = ExtractionOptions(parsed, common: common, isRoot: StandardStreams.isRoot)
    options.restoreEverything()
    options.isDryRun = common.dryRun
    options.keepsGoing = !parsed.flag(.strict)
    extraction = options
    tally = TransformTally(namesEach: common.verbose || common.json)
    session = try Session(
      common, environment: environment, inputs: ExtractJob.descriptorsOfCollector, observing: tally.observing)
  }

  func run() throws(BatchError) -> Ending {
    let context = session.context
    let source = try self.source()
    defer { withExtendedLifetime(source) {} }
    let set = source.set
    let content = try source.content()
    for error in content.damaged { session.fail(error, severity: .warning) }
    let snapshot = try set.opened(choices.snapshot(of: content, in: set, session), in: context)
    var members = RestoreSource(globs: names.texts, areNames: names.areNames, strip: strip) { _ in
      RestoreSource.Opened(snapshot, of: set, content: content)
    }
    members.removal = removal
    members.announce = { [session] (opened, reader) in
      if let remark = BatchError(doubtfulLinksOf: reader, in: opened) { session.warn(remark) }
      if let remark = BatchError(cut: opened.snapshot) { session.fail(remark, severity: .warning) }
    }
    let selection = MemberSelection(strip: strip)
    let rows =
      common.dryRun
      ? PreviewRows(directory: target, selection: selection, session: session, onlyChanges: true) : nil
    let call = ExtractCall(.snapshot(members), into: target, extraction)
    let outcome: CallOutcome<ExtractCall.Result>
    do throws(BatchError) {
      outcome = try session.run(call, .items([])) { [session, tally, made] (report) throws(BatchError) in
        try session.report(report, tally: tally, made: made, preview: rows)
      }
    } catch {
      // The manifest is damaged.
      guard error.code == .malformed else { throw error }
      session.reporter.fatal(error)
      session.adviseRepair(of: set)
      return .exit(.outputIncomplete)
    }
    try rows?.finish()
    let ending = finish(outcome, snapshot)
    if case .exit(.outputIncomplete) = ending { session.adviseRepair(of: set) }
    return ending
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

  private func finish(_ outcome: CallOutcome<ExtractCall.Result>, _ snapshot: Snapshot) -> Ending {
    let refusal = tally.refusal(of: target)
    if outcome.summary.stopped != nil { tally.passOn() }
    return session.ending(outcome, writesOutput: common.dryRun) { result in
      if let failure = result.extraction.failure { session.reporter.fatal(failure) }
      if let refusal { session.reporter.fatal(refusal) }
      if let refusal = result.extraction.refusal { session.reporter.fatal(refusal) }
      for remark in result.extraction.archive.remarks { session.warn(BatchError(.malformed, remark)) }
      for glob in result.unmatched {
        tally.met(glob.problem("nothing in the snapshot matches"), severity: .failure)
      }
      return SummaryText(
        verb: "\(common.dryRun ? "would restore" : "restored") \(snapshot.name.stamp):", files: made.files,
        bytes: made.bytes, kinds: made.kinds,
        others: [(result.extraction.removed, "removed")] + outcome.summary.counts.unprocessed)
    }
  }
}
