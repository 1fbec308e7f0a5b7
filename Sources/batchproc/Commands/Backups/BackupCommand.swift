import BatchCore
import BatchEngine

struct BackupCommand: Command {
  private let choices: BackupChoices
  private let name: PathBytes
  private let options: BackupOptions
  private let operands: [PathBytes]
  private let hooks: BackupHooks
  /// The socket of the service manager, if one started the program.
  private let manager: PathBytes?
  /// Nil if snapshots are not copied elsewhere.
  private let copying: CopyChoices?
  let session: Session
  private let tally = MemberTally()

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    guard let target = parsed.bytes(.target) else {
      throw UsageError(
        "Missing expected option '--to <dir>'.", in: parsed.command,
        correction: parsed.operands.count > 1
          ? parsed.operands.last.map { .insert(["--to", $0], taking: $0, in: parsed.command) } : nil)
    }
    name = try BackupChoices.newName(parsed)
    choices = try BackupChoices(parsed, directory: target)
    var options = BackupOptions()
    options.archive.level = parsed.count(.level)
    options.archive.isRemembered = parsed.flag(.verify, initially: true)
    options.fullEvery = UInt64(parsed.count(.fullEvery) ?? 7)
    options.isFull = parsed.flag(.full)
    options.readsEverything = parsed.flag(.checksum)
    options.acceptsRot = parsed.flag(.acceptRot)
    options.allowsEmpty = parsed.flag(.allowEmpty)
    options.isSynced = common.fsync
    options.patience = choices.patience
    options.grouping = choices.grouping
    options.initializes = parsed.flag(.initialize)
    options.state = StateFile.path("sets", environment: environment)
    options.copies = StateFile.path("manifests", environment: environment)
    options.lock = try EncryptionChoices.lock(parsed)
    options.allowsPlain = parsed.flag(.plain)
    if options.allowsPlain, options.lock != nil {
      throw UsageError("--plain cannot be used with a recipient or a passphrase.", in: parsed.command)
    }
    let choosing = Set(CommandSpec.Group.choosing.options.map(\.id))
    options.selection = try BackupOptions.word(
      of: parsed.given.filter { choosing.contains($0.id) }.map { "\($0.id.rawValue)=\($0.value)" })
    copying = parsed.bytes(.copyTo).map { CopyChoices(parsed, remote: $0) }
    if let copying, !BackupTarget.isRemote(copying.remote) { options.copyFolder = copying.remote }
    self.options = options
    operands = parsed.operands
    hooks = try BackupHooks(
      parsed, set: name, directory: target, successes: StateFile.path("successes", environment: environment))
    manager = environment("NOTIFY_SOCKET")
    let stride = options.archive.format.stride(count: common.stride)
    var call = BackupCall(to: try BackupSet(in: target, named: name), options)
    session = try Session(
      common, environment: environment, for: &call, rate: parsed.size(.rate), setApart: { $0.stride = stride }
    )
  }

  func run() throws(BatchError) -> Ending {
    if common.dryRun { return try list() }
    var report = BackupHooks.Report()
    session.stall.setLastStep(
      StallGuard.LastStep(limit: hooks.longest) { [hooks, session, report] in
        hooks.runAfter(ExitStatus.fatal.rawValue, report, session)
      })
    defer { session.stall.setLastStep(nil) }
    let ending: Ending
    do throws(BatchError) {
      try hooks.runBefore(session)
      ending = session.ending(replacing: try backUp(&report))
    } catch {
      ending = session.ending(after: error)
    }
    report.counts = session.context.counters.snapshot
    session.stall.claimEnd()
    hooks.runAfter(ending.status, report, session)
    return ending
  }

  /// Lists the files that would be archived; runs no hook, takes no lock, and writes nothing.
  private func list() throws(BatchError) -> Ending {
    let set = try self.set()
    let results = ResultWriter(session)
    var call = BackupPreviewCall(to: set, options) { (path, bytes) in results.append(name: path, to: &bytes) }
    call.announce = { (preparation) throws(BatchError) in
      tell(preparation.remarks)
      tellSeries(preparation, isPlanned: true)
      try tellRemovals(preparation, of: set)
    }
    let input = CallInput.paths(Operands(try sources()), try session.walkOptions(forAllBut: []))
    let outcome = try session.run(call, input) { (rows) throws(BatchError) in try results.write(rows) }
    return session.ending(outcome) { result in
      let (counts, header) = (outcome.summary.counts, result.preparation.header)
      let kind = header.isFull ? "full" : "increment \(header.increment)"
      return SummaryText(
        verb: "would take a snapshot, \(kind), and archive", files: counts.done, bytes: counts.byteCount,
        others: counts.unprocessed)
    }
  }

  /// Reports remarks about the set, even with `--quiet`: it is damaged, or other keys open its next snapshots.
  private func tell(_ remarks: [BatchError]) {
    for remark in remarks { session.fail(remark, severity: .warning) }
  }

  /// Reports which series the snapshot continues; for a real run, only that it begins one in a set that has others.
  private func tellSeries(_ preparation: BackupPreparation, isPlanned: Bool) {
    let origin = preparation.header.origin
    if let continued = preparation.continued {
      guard isPlanned else { return }
      session.warn(
        BatchError(.special, "would continue the series of \(origin), last \(continued.label)"), as: .note)
    } else if isPlanned || preparation.beginsFurtherSeries {
      let verb = isPlanned ? "would begin" : "begins"
      let others =
        preparation.beginsFurtherSeries
        ? ": the other snapshots of the set are of other machines or sources" : ""
      session.warn(BatchError(.special, "\(verb) a new series, of \(origin)\(others)"), as: .note)
    }
  }

  /// Reports which snapshots the rules would remove after this one was made.
  private func tellRemovals(_ preparation: BackupPreparation, of set: BackupSet) throws(BatchError) {
    guard !choices.retention.isEmpty else { return }
    let removals = preparation.removals(
      choices.retention, by: choices.grouping, suspects: try set.foundDamage().suspects)
    for snapshot in removals {
      session.warn(
        BatchError(.special, "would remove the snapshot \(snapshot.label) of \(snapshot.header.origin)"),
        as: .note)
    }
    if removals.isEmpty {
      session.warn(BatchError(.special, "would remove no snapshot"), as: .note)
    }
  }

  private func set() throws(BatchError) -> BackupSet {
    var set = try BackupSet(in: choices.directory, named: name)
    set.keys = session.keys(choices.keys)
    set.privateFolder = options.copies
    return set
  }

  /// The source paths of the command line and of the lists.
  private func sources() throws(BatchError) -> [PathBytes] {
    let paths = Array(session.operands(operands).uncounted)
    try session.cancellation.check()
    guard !paths.isEmpty else {
      throw BatchError(.missing, "the lists contain no path: no snapshot was made")
    }
    return paths
  }

  private func backUp(_ report: inout BackupHooks.Report) throws(BatchError) -> Ending {
    let sources = try sources()
    report.sources = sources
    var call = BackupCall(to: try set(), options)
    call.announce = { backup in
      for warning in backup.warnings { session.fail(warning, severity: .warning) }
      if let note = backup.note { session.warn(note, as: .note) }
      tell(backup.preparation.remarks)
      tellSeries(backup.preparation, isPlanned: false)
      StandardStreams.notify(manager, status: "archiving into \(backup.header.name.archive)")
    }
    call.completing = { backup in
      StandardStreams.notify(manager, status: "completing \(backup.header.name.archive)")
    }
    let input = CallInput.paths(Operands(sources), try session.walkOptions(forAllBut: []))
    let outcome = try session.run(call, input) { [session, tally] (members) throws(BatchError) in
      tally.add(members)
      try session.tell(members)
    }
    if let ending = session.endingOfStopped(outcome.summary) { return ending }
    if let failure = outcome.failure { return session.ending(after: failure) }
    guard let result = outcome.result, !outcome.verdict.contains(.nothing) else {
      session.reporter.fatal(BatchError(.unreadable, "no file could be read: no snapshot was made"))
      return .exit(.fatal)
    }
    return finish(result, outcome, &report)
  }

  private func finish(
    _ result: BackupCall.Result, _ outcome: CallOutcome<BackupCall.Result>, _ report: inout BackupHooks.Report
  ) -> Ending {
    let (backup, content, verified) = (result.backup, result.content, result.verified)
    if content.leftOut > 0 {
      session.warn(
        BatchError(
          .special,
          "\(ByteCount.files(content.leftOut)) of sets in it, or in the directory of copies, are not backed up",
          path: choices.directory), as: .note)
    }
    var prune: Prune?
    var failure: BatchError?
    let failures = Int(clamping: content.footer.failures ?? 0)
    if failures > 0, !choices.retention.isEmpty || copying?.retention.isEmpty == false {
      session.fail(
        BatchError(
          .unreadable,
          "no old snapshot is removed, since \(ByteCount.counted(failures, "input")) could not be backed up",
          remedy: "use --exclude for files that can never be read, or --on unreadable=warn"),
        severity: .warning)
    }
    // What rot replaced may be whole only in an old snapshot.
    let mayRemove = failures == 0 && content.rotten == 0
    do throws(BatchError) {
      if !choices.retention.isEmpty, mayRemove {
        // Opening all manifests with a passphrase would take a second for each.
        var set = backup.set
        set.keys = nil
        prune = try choices.prune(
          set, of: content.header.name, .held(backup.lock, choices.patience), isSynced: common.fsync,
          in: session.context)
        session.warn(ofFuture: prune?.future ?? [])
      }
    } catch {
      // The snapshot exists; only old ones could not be removed.
      failure = error
      if !session.cancellation.isCancelled { session.reporter.fatal(error) }
    }
    let isUncopied = !copy(backup.set, of: content.header.name, removes: mayRemove)
    report.content = content
    let counts = session.context.counters.snapshot
    let kind = content.header.isFull ? "full" : "increment \(content.header.increment)"
    let tree =
      "\(content.header.name.stamp), \(kind), of \(ByteCount.files(Int(clamping: content.footer.files)))"
    let text = SummaryText(
      verb: "snapshot \(tree), \(ByteCount.text(Int64(clamping: content.footer.bytes))): archived",
      files: tally.files, bytes: tally.bytes, kinds: tally.kinds,
      others: [
        (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
        (counts.failed, "failed"), (content.rotten, "rotten"),
        (content.repeated, "archived again: changed shortly before the last backup"),
        (verified ?? 0, "verified"),
        (
          prune?.removed.count ?? 0,
          prune?.removed.count == 1 ? "old snapshot removed" : "old snapshots removed"
        ),
      ],
      tallies: [
        (Int(clamping: content.footer.files), "snapshot_files"),
        (Int(clamping: content.footer.bytes), "snapshot_bytes"),
      ] + (verified.map { [($0, "verified")] } ?? []) + (prune.map { [($0.removed.count, "removed")] } ?? []))
    session.reporter.summary(
      RunSummary(counts: counts, stopped: session.cancellation.reason, elapsed: outcome.summary.elapsed),
      text: text)
    let verdict = outcome.verdict
      .adding(.incomplete, if: failure?.code == .unwritable)
      .adding(.someFailed, if: failure != nil || isUncopied)
    let status = failure?.code == .locked ? .locked : ExitStatus(verdict)
    // The mail of cron should still contain the summary.
    if status != .success, common.quiet, !common.json {
      session.diagnostics.print(text.line(seconds: report.stopwatch.seconds))
    }
    return .exit(status)
  }

  /// Copies the set elsewhere, if requested.
  ///
  /// - Parameter removes: whether copies that no rule keeps are removed.
  /// - Returns: whether everything was copied.
  private func copy(_ set: BackupSet, of own: SnapshotName, removes: Bool) -> Bool {
    guard let copying else { return true }
    do throws(BatchError) {
      let (text, verdict) = try copying.copy(set, of: own, session, removes: removes)
      if !common.quiet, !common.json { session.diagnostics.print(text) }
      return verdict.isEmpty
    } catch {
      // What stopped the run is reported by its ending.
      if !session.cancellation.isCancelled { session.fail(error) }
      return false
    }
  }
}
