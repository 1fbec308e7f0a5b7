import BatchCore
import BatchEngine

/// `batchproc restore`.
struct RestoreCommand: Command {
  private let choices: BackupChoices
  private let globs: [PathBytes]
  private let target: PathBytes
  private let extraction: ExtractionOptions
  private let common: CommonOptions
  let session: Session
  private let tally: TransformTally
  private let made = MemberTally()

  /// - Throws: `UsageError` without a target.
  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    globs = Array(parsed.operands.dropFirst())
    guard let target = parsed.bytes(.directory) else {
      throw UsageError("Missing expected option '-C <dir>': where to restore.", in: parsed.command)
    }
    self.target = target
    var options = ExtractionOptions()
    let overwriting = parsed.given.last { [.overwrite, .force].contains($0.id) }
    options.overwriting = overwriting?.id == .force ? .always : parsed.choice(.overwrite) ?? .never
    options.acceptsEqual = true
    options.restoresOwner = parsed.flag(.sameOwner, initially: StandardStreams.isRoot)
    options.usesNumericOwner = parsed.flag(.numericOwner)
    options.restoresPrivileges = true
    options.pathLimits = common.pathLimits
    options.makesDevices = StandardStreams.isRoot
    options.keepsGoing = parsed.flag(.keepGoing)
    options.isSynced = common.fsync
    extraction = options
    self.common = common
    var tally: TransformTally?
    session = try Session(common, environment: environment) { reporter in
      let new = TransformTally(reporter, namesEach: common.verbose || common.json)
      tally = new
      return new
    }
    self.tally = tally ?? TransformTally(session.reporter, namesEach: true)
  }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending {
    let context = session.context
    let source = try SetSource(choices, locks: true, session)
    defer { withExtendedLifetime(source) {} }
    let set = source.set
    let content = try source.content()
    for error in content.damaged { session.reporter.met(Problem(.unreadable, error), severity: .warning) }
    let snapshot = try set.opened(choices.snapshot(of: content, in: session), in: context)
    if let fault = content.faults(of: snapshot).first, content.archives[fault] == nil {
      throw BatchError(
        .missing, "is missing, and the snapshot \(snapshot.name.stamp) needs it",
        path: set.path(
          SnapshotName(set: set.name, stamp: fault, isEncrypted: snapshot.name.isEncrypted).archive))
    }
    var options = extraction
    options.memory = context.options.memory
    let reader = try RestoreReader(
      snapshot, of: set, globs: globs, options: options, in: SourceContext(context))
    let unmatched = reader.unmatched
    try source.fetch(reader.archives)
    if reader.doubtfulLinks > 0 {
      session.warn(
        BatchError(
          .special,
          "the manifest of an earlier version does not tell whether \(reader.doubtfulLinks) files are further names of others: they are restored as files of their own",
          path: set.path(snapshot.name.manifest)))
    }
    try RestoreReader.makeTarget(target, in: context)
    let job = try ExtractJob(
      into: target, selection: MemberSelection(), options: options, in: session.context
    ) {
      (report) throws(BatchError) in try show(report)
    }
    return finish(session.run(job, reading: reader), snapshot, unmatched)
  }

  private func show(_ report: ExtractionReport) throws(BatchError) {
    session.advanced(1)
    tally.madeOutput()
    if report.outcome == .extracted { made.add(report.kind, report.size) }
    if let events = session.reporter as? JSONReporter {
      try events.write("member") { line in
        line.add(path: report.path)
        line.add("outcome", report.outcome.rawValue)
      }
    } else if common.verbose {
      session.diagnostics.print(report.line)
    }
  }

  private func finish(_ outcome: RunOutcome<Extraction>, _ snapshot: Snapshot, _ unmatched: [PathBytes])
    -> Ending
  {
    let summary = outcome.summary
    let refusal = tally.refusal(of: target)
    if summary.stopped != nil { tally.passOn() }
    if let ending = session.endingOfStopped(summary) { return ending }
    guard let extraction = outcome.result else { return .exit(.fatal) }
    if let failure = extraction.failure { session.reporter.fatal(failure) }
    if let refusal { session.reporter.fatal(refusal) }
    for remark in extraction.remarks { session.warn(BatchError(.malformed, remark)) }
    for glob in unmatched {
      tally.met(
        Problem(.missing, BatchError(.missing, "nothing in the snapshot matches", path: glob)),
        severity: .failure)
    }
    let counts = session.context.counters.snapshot
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "restored \(snapshot.name.stamp):", files: made.files, bytes: made.bytes, kinds: made.kinds,
        others: [(counts.skipped, counts.skippedWord), (counts.failed, "failed")]))
    let hasBadOutput = refusal != nil || tally.current.spoilt > 0
    if extraction.failure != nil || hasBadOutput || extraction.isDamaged || extraction.isCutShort {
      return .exit(.outputIncomplete)
    }
    if counts.done + counts.skipped == 0, counts.failed > 0 { return .exit(.fatal) }
    return .exit(
      counts.failed > 0 || extraction.misdescribed > 0 || !unmatched.isEmpty ? .someFailed : .success)
  }
}
