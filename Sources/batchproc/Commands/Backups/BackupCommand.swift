import BatchCore
import BatchEngine

struct BackupCommand: Command {
  let choices: BackupChoices
  private let name: PathBytes
  let options: BackupOptions
  /// In seconds; nil for none.
  let budget: Int?
  private let operands: [PathBytes]
  private let hooks: BackupHooks
  /// The socket of the service manager, if one started the program.
  private let manager: PathBytes?
  /// Where snapshots are copied to.
  let copies: [CopyChoices]
  let session: Session
  let tally = MemberTally()

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    guard let target = parsed.bytes(.target) else {
      throw UsageError(
        "Missing expected option '--to <dir>'.", in: parsed.command,
        correction: Self.target(among: parsed.operands).map {
          .insert(["--to", $0], taking: $0, in: parsed.command)
        }
          ?? .insert(["--to", "/mnt/backups"], taking: nil, in: parsed.command))
    }
    name = try BackupChoices.newName(parsed)
    choices = try BackupChoices(parsed, directory: target)
    var options = BackupOptions()
    options.archive.level = parsed.count(.level)
    options.archive.isRemembered = parsed.flag(.verify, initially: true)
    options.parity = try ParityOptions(parsed)
    options.fullEvery = parsed.count(.fullEvery).flatMap { $0 > 0 ? UInt64($0) : nil }
    options.isFull = parsed.flag(.full)
    options.readsEverything = parsed.flag(.checksum)
    options.acceptsRot = parsed.flag(.acceptRot)
    options.allowsEmpty = parsed.flag(.allowEmpty)
    options.allowsOtherFileSystem = parsed.flag(.allowOtherFileSystem)
    if parsed.flag(.pruneFirst) {
      guard !choices.retention.isEmpty else {
        throw UsageError("--prune-first needs a --keep option.", in: parsed.command)
      }
      options.retentionBefore = choices.retention
    }
    options.checkpointTime = parsed.duration(.checkpoint).map { .seconds($0) }
    if options.checkpointTime == nil {
      options.checkpoint = UInt64(parsed.size(.checkpoint) ?? 32 << 30)
      if options.checkpoint == 0 { options.checkpoint = nil }
    }
    budget = parsed.duration(.timeBudget).map { Int($0) }
    options.leastUsed = choices.leastUsed
    options.isSynced = common.fsync
    options.patience = choices.patience
    options.grouping = choices.grouping
    options.initializes = parsed.flag(.initialize)
    options.state = StateFile.place("sets", environment: environment)
    options.copies = StateFile.place("manifests", environment: environment)
    options.lock = try EncryptionChoices.lock(parsed)
    options.allowsPlain = parsed.flag(.plain)
    if options.allowsPlain, options.lock != nil {
      throw UsageError("--plain cannot be used with a recipient or a passphrase.", in: parsed.command)
    }
    let choosing = Set(CommandSpec.Group.choosing.options.map(\.id))
    options.selection = try BackupOptions.word(
      of: parsed.given.filter { choosing.contains($0.id) }.map { "\($0.id.rawValue)=\($0.value)" })
    copies = try CopyChoices.all(parsed)
    options.copyFolders = copies.map(\.remote).filter { !BackupTarget.isRemote($0) }
    self.options = options
    operands = parsed.operands
    hooks = try BackupHooks(
      parsed, set: name, directory: target, successes: StateFile.place("successes", environment: environment))
    manager = environment("NOTIFY_SOCKET")
    var call = BackupCall(to: try BackupSet(in: target, named: name), options, stride: common.stride)
    session = try Session(common, environment: environment, for: &call)
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
      ending = session.ending(replacing: try BackupLegs(self).run(&report))
    } catch {
      ending = session.ending(after: advised(error))
    }
    report.counts = session.context.counters.snapshot
    session.stall.claimEnd()
    hooks.runAfter(ending.status, report, session)
    return ending
  }

  /// Tells the service manager what the run does.
  func notify(status: String) { StandardStreams.notify(manager, status: status) }

  /// Reports remarks about the set, even with `--quiet`: it is damaged, or other keys open its next snapshots.
  func tell(_ remarks: [BatchError]) {
    for remark in remarks { session.fail(remark, severity: .warning) }
  }

  /// Reports which series the snapshot continues; for a real run, only that it begins one in a set that has others.
  func tellSeries(_ preparation: BackupPreparation, isPlanned: Bool) {
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

  func set() throws(BatchError) -> BackupSet {
    var set = try BackupSet(in: choices.directory, named: name)
    set.keys = session.keys(choices.keys)
    set.privateFolder = options.copies
    return set
  }

  /// The source paths of the command line and of the lists.
  func sources() throws(BatchError) -> [PathBytes] {
    let paths = Array(session.operands(operands).uncounted)
    try session.cancellation.check()
    guard !paths.isEmpty else {
      throw BatchError(.missing, "the lists contain no path: no snapshot was made")
    }
    return paths
  }
}
