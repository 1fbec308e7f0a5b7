import BatchCore
import BatchEngine
import BatchOutputs
import Synchronization
import func Glibc._exit
import var Glibc.SIGHUP
import var Glibc.SIGINT
import var Glibc.SIGPIPE
import var Glibc.SIGQUIT
import var Glibc.SIGTERM
import var Glibc.SIGUSR1
import var Glibc.STDERR_FILENO

/// The common set-up of every command that processes files: limits, signals, reporting, the runner.
final class Session: CallWatch, Sendable {
  let common: CommonOptions
  let diagnostics: Diagnostics
  let reporter: any Reporter
  /// The reporter, if results are events of `--json`; nil for text.
  let events: JSONReporter?
  /// Standard output, for results.
  let output: any ResultStream
  let context: RunContext
  /// Operations at once that the options and the machine allow.
  let width: Int
  /// The folder of caches; nil when the environment does not define one.
  let caches: PathBytes?
  private let resumes: Bool
  private let progressMode: ProgressMode
  private let progress = Mutex<ProgressDisplay?>(nil)
  private let signals = Mutex<SignalSources?>(nil)
  /// The requested report; its files are excluded from the run.
  private let report = Mutex<RunReport?>(nil)
  private let recorder: RunRecorder?
  /// How long files take, if needed.
  let fileTimes: FileTimes?
  private let governor: LoadGovernor?
  private let control: RunControl?
  private let signal = Mutex<Int32?>(nil)
  private let watch: ThreadWatch
  let stall: StallGuard
  /// The filter rules of the run, until the unmatched ones are reported.
  private let rules = Mutex<PathFilter?>(nil)

  var cancellation: Cancellation { context.cancellation }

  /// Whether a status line at the bottom of the terminal may show progress.
  var showsStatus: Bool { progressMode == .bar }

  /// The session of a command that is one call; the call gets its share of the descriptors for outputs.
  ///
  /// - Parameters:
  ///   - resumes: whether a further run continues the work that this one leaves.
  ///   - rate: bytes to read in a second.
  ///   - shard: the shard of a plan that is processed; nil without one.
  ///   - setApart: changes the options of the run.
  ///   - observing: wraps the reporter in an observer.
  /// - Throws: `exhausted` when the process may open too few files.
  convenience init<C: Call>(
    _ common: CommonOptions, environment: Environment, for call: inout C, resumes: Bool = false,
    rate: Int64? = nil, shard: ShardTask? = nil, setApart: (inout BatchOptions) -> Void = { _ in },
    observing: (any RunObserver) -> any RunObserver = { $0 }
  ) throws(BatchError) {
    var shared = call
    try self.init(
      common, environment: environment, laneMemory: call.limits.laneMemory, resumes: resumes,
      inputs: shard == nil ? 0 : ShardTask.descriptors, rate: rate,
      setApart: { (options: inout BatchOptions) throws(BatchError) in
        setApart(&options)
        try options.setApart(for: &shared)
      },
      observing: { observing(shard?.recording($0) ?? $0) })
    call = shared
  }

  /// - Parameters:
  ///   - laneMemory: bytes that one operation takes at most.
  ///   - resumes: whether a further run continues the work that this one leaves.
  ///   - inputs: how many other files the source keeps open, such as a manifest.
  ///   - rate: bytes to read in a second.
  ///   - setApart: changes the options of the run.
  ///   - observing: wraps the reporter in an observer.
  /// - Throws: `exhausted` when the process may open too few files.
  init(
    _ common: CommonOptions, environment: Environment, laneMemory: Int = 0, resumes: Bool = false,
    inputs: Int = 0, rate: Int64? = nil,
    setApart: (inout BatchOptions) throws(BatchError) -> Void = { _ in },
    observing: (any Reporter) -> any RunObserver = { $0 }
  ) throws(BatchError) {
    self.common = common
    temporary = TemporaryFolder.place(environment)
    caches = userFolder("XDG_CACHE_HOME", or: ".cache", environment)
    self.resumes = resumes
    let traits = TerminalTraits(isTerminal: StandardStreams.isTerminal(.error), environment: environment)
    diagnostics = Diagnostics(
      descriptor: STDERR_FILENO, usesColor: traits.usesColor(common.color),
      usesPriorities: StandardStreams.isJournal(environment("JOURNAL_STREAM")))
    progressMode = traits.progress(common.progress, quiet: common.quiet)
    // Before any thread exists: priorities are inherited.
    common.qos.apply()
    let cancellation = Cancellation()
    let output = StandardOutput(
      cancellation: cancellation,
      filter: StandardStreams.isTerminal(.output) ? TerminalText.escapeControls : nil)
    self.output = output
    recorder = common.report.map { RunRecorder(Invocation($0.command)) }
    let measures = (common.verbose || common.report != nil) && !common.dryRun
    fileTimes = measures ? FileTimes() : nil
    let slowest = common.verbose ? fileTimes : nil
    events =
      common.json
      ? JSONReporter(
        stream: output, cancellation: cancellation, diagnostics: diagnostics, recorder: recorder,
        slowest: slowest) : nil
    reporter =
      events
      ?? TextReporter(
        diagnostics: diagnostics, isQuiet: common.quiet, isVerbose: common.verbose, recorder: recorder,
        slowest: slowest)
    var saved: Int?
    if common.concurrency == nil, let operand = common.firstOperand {
      let devices = SavedDevices(readingAt: SavedDevices.path(environment: environment))
      if !devices.numbers.isEmpty { saved = DeviceFacts.fileSystemID(of: operand).flatMap { devices[$0] } }
    }
    var limits = common.limits(saved: saved)
    limits.bytesPerSecond = rate
    var options = try limits.options(Capacity.current(), laneMemory: laneMemory)
    width = options.concurrency
    options.setApart(inputs + (common.fileLists.isEmpty ? 0 : 1) + (common.report == nil ? 0 : 2))
    try setApart(&options)
    context = RunContext(
      options: options, cancellation: cancellation, observer: observing(reporter), fileTimes: fileTimes)
    let counters = context.counters
    let stall = StallGuard(common, context, reporter)
    self.stall = stall
    // Started before any other code needs a thread.
    watch = try ThreadWatch {
      let counts = counters.snapshot
      return counts.byteCount &+ Int64(counts.done + counts.failed + counts.skipped)
    } giveUp: {
      // Written directly: code that waits for a thread may hold the locks of the reporter.
      let message =
        "batchproc: the run waits for threads, and no more can be started; raise `ulimit -u` or pids.max of the control group\n"
      StandardStreams.write(Array(message.utf8))
      StagingArea.shared.removeAll()
      _exit(ExitStatus.fatal.rawValue)
    } look: {
      stall.look()
    }
    let (context, diagnostics) = (context, diagnostics)
    governor = common.maxLoad.map { LoadGovernor.holdBack(context, limit: $0) }
    control = common.control.map { file in
      RunControl(file, of: context) { diagnostics.report($0, as: .warning) }
    }
    signals.withLock {
      $0 = SignalSources([SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1]) { [weak self] in self?.received($0) }
    }
    if let limit = common.maxLoad, limit.load() == nil {
      diagnostics.report(
        BatchError(.unreadable, "--max-load has no effect: the kernel does not provide this load"),
        as: .warning)
    }
    if let file = common.control {
      if common.concurrency != nil { context.concurrency.fix(context.concurrency.current) }
      if common.verbose, StandardStreams.identity(of: file) == nil {
        diagnostics.report(
          BatchError(
            .missing, "the file of --control is not there yet; it is looked for during the run", path: file),
          as: .note)
      }
    }
    if let choice = common.report, let recorder {
      let opened = try RunReport(choice, recorder, isSynced: common.fsync, in: context)
      report.withLock { $0 = opened }
    }
  }

  /// The walk options of the command; the report file is excluded.
  func walkOptions() throws(BatchError) -> WalkOptions {
    var walk = try common.walkOptions()
    walk.excluded = report.withLock { $0 }?.ownFiles ?? []
    rules.withLock { $0 = walk.filter }
    return walk
  }

  /// The walk options for trees of which everything is taken except temporary files, standard output and these files.
  func walkOptions(forAllBut own: [FileIdentity?]) throws(BatchError) -> WalkOptions {
    var walk = try walkOptions()
    walk.takesEverything = true
    walk.skipsTemporaries = true
    walk.excluded.formUnion((own + [StandardStreams.outputFile]).compactMap { $0 })
    return walk
  }

  /// The filter for members of an archive; nil without rules.
  func filter() throws(BatchError) -> PathFilter? {
    let filter = try common.filter()
    rules.withLock { $0 = filter }
    return filter
  }

  /// Reports once which rules matched nothing.
  private func reportUnmatchedRules() {
    guard let filter = rules.withLock({ $0.take() }) else { return }
    let unmatched = filter.unmatchedRules.filter { !common.isImplied($0) }
    if !unmatched.isEmpty { reporter.unmatched(unmatched) }
  }

  /// Follows a further part of the run, whose files and bytes count in the report.
  func follow(_ part: RunContext) { recorder?.follow(part) }

  /// Records a difference that the command has found, for the report.
  func found(_ path: PathBytes, _ text: @autoclosure () -> String) {
    if let recorder { recorder.found(path, text()) }
  }

  /// Writes the report, if requested.
  ///
  /// - Returns: the same ending, or that of an incomplete output if the report cannot be written.
  func report(_ ending: Ending) -> Ending {
    guard let report = report.withLock({ $0.take() }) else { return ending }
    do throws(BatchError) {
      try report.write(ending, context, fileTimes)
      return ending
    } catch {
      diagnostics.report(error)
      return ending.isWorse(than: .outputIncomplete) ? ending : .exit(.outputIncomplete)
    }
  }

  /// Runs a call, and shows its progress.
  ///
  /// - Throws: why the run could not begin.
  func run<C: Call>(
    _ call: C, _ input: CallInput, report: @escaping @Sendable (C.Report) throws(BatchError) -> Void
  ) throws(BatchError) -> CallOutcome<C.Result> {
    try call.perform(input, in: context, watchedBy: self, report: report)
  }

  func begins(_ total: ResultOperation<Counters.Snapshot>?) {
    let total = progressMode == .none ? nil : total
    let concurrency = context.concurrency
    let display = ProgressDisplay(
      mode: progressMode, diagnostics: diagnostics, counters: context.counters, total: total,
      isPaused: { concurrency.isSuspended })
    progress.withLock { $0 = display }
    try? total?.startByHand()
    governor?.start()
    control?.start()
  }

  func ends(_ summary: RunSummary) {
    progress.withLock { $0.take() }?.end(isComplete: summary.stopped == nil)
    if summary.stopped == nil, summary.counts.missing == 0 { reportUnmatchedRules() }
  }

  /// Reports a path that could not be processed, or that is not as it should be.
  func fail(_ error: BatchError, as event: Problem.Event = .unreadable, severity: Severity = .failure) {
    reporter.met(Problem(event, error), severity: severity)
  }

  /// Reports an archive that a snapshot needs and that is missing or damaged.
  func fail(_ archive: PathBytes, neededBy snapshot: String) {
    fail(
      BatchError(
        .malformed, "is missing or has the wrong size, and the snapshot \(snapshot) needs it", path: archive))
  }

  /// Reports a remark about the input, without effect on the exit status; not with `--quiet` and `--json`.
  func warn(_ error: BatchError, as severity: Diagnostics.Severity = .warning) {
    if !common.quiet, !common.json { diagnostics.report(error, as: severity) }
  }

  /// The folder for temporary directories of the user.
  let temporary: PathBytes

  /// The keys, limited to the memory that the run may use.
  func keys(_ keys: AgeKeys?) -> AgeKeys? {
    var keys = keys
    keys?.memory = context.options.memory
    return keys
  }

  /// Reports remarks about an archive, even with `--quiet`: a part of the archive may be left out.
  func warn(of archive: PathBytes, _ remarks: [String]) {
    for remark in remarks { fail(BatchError(.malformed, remark, path: archive), severity: .warning) }
  }

  /// Adds finished items to the progress.
  func advanced(_ count: Int) {
    progress.withLock { $0 }?.add(count)
  }

  /// The ending of a run that was stopped; nil when it was not.
  ///
  /// - Parameter done: text for the results, if these are not only files.
  func endingOfStopped(_ summary: RunSummary, done: String? = nil) -> Ending? {
    guard let reason = summary.stopped else { return nil }
    if let ending = endingBySignal {
      if !common.quiet, !common.json {
        diagnostics.report(Self.interruption(summary, done: done, resumes: resumes), as: .note)
      }
      return ending
    }
    return ending(after: reason)
  }

  /// `interrupted: 62 files done, 21 skipped; run again to continue`. The three counts add up to what the progress showed.
  static func interruption(_ summary: RunSummary, done: String? = nil, resumes: Bool) -> String {
    let counts = summary.counts
    let others = counts.unprocessed
    return "interrupted: \(done ?? ByteCount.files(counts.done)) done"
      + others.filter { $0.0 > 0 }.map { ", \(ByteCount.grouped($0.0)) \($0.1)" }.joined()
      + (resumes && summary.leavesItems ? "; run again to continue" : "")
  }

  /// How a command ends after its call: reports why its outputs are incomplete, or the summary.
  ///
  /// - Parameters:
  ///   - writesOutput: whether standard output received results that are not complete yet.
  ///   - done: text for the results of a run that was stopped, if these are not only files.
  ///   - conclude: reports the result and returns the summary; called for a run that reached its end.
  ///   - advise: gives advice after the summary.
  func ending<Result>(
    _ outcome: CallOutcome<Result>, writesOutput: Bool = true, done: String? = nil,
    conclude: (Result) throws(BatchError) -> SummaryText, advise: (Result) -> Void = { _ in }
  ) -> Ending {
    if let ending = endingOfStopped(outcome.summary, done: done) { return ending }
    do throws(BatchError) {
      if let failure = outcome.failure { throw failure }
      guard let result = outcome.result else { return .exit(.fatal) }
      if writesOutput, !outcome.verdict.contains(.nothing) { try output.finish() }
      reporter.summary(outcome.summary, text: try conclude(result))
      advise(result)
      return .exit(ExitStatus(outcome.verdict))
    } catch {
      return ending(after: error)
    }
  }

  /// The paths of the command line and of its lists.
  func operands(_ given: [PathBytes], areAbsolute: Bool = false) -> Operands {
    Operands(
      given,
      lists: common.fileLists.map {
        PathList(
          areAbsolute ? WorkingFolder.absolute($0.path) : $0.path, isNULEnded: $0.isNULEnded,
          cancellation: cancellation, calls: context.calls)
      })
  }

  /// The ending of a command that reached this one by itself: a signal at any time comes first, then whatever else stopped the
  /// rest of it, such as a summary that could not be written.
  func ending(replacing ending: Ending) -> Ending {
    if let ending = endingBySignal { return ending }
    guard case .exit(let status) = ending, let reason = cancellation.reason else { return ending }
    let isReplaced =
      switch status {
      case .success, .budgetReached, .someFailed: true
      // Damage can stop a part of a run, and has this status.
      case .differences: reason.code == .closedOutput || reason.code == .unwritable
      default: reason.code == .closedOutput
      }
    return isReplaced ? self.ending(after: reason) : ending
  }

  /// Reports the error that ends a run, and returns its ending; a run ends silently by a signal, and if the reader has closed the
  /// output.
  func ending(after error: BatchError) -> Ending {
    if error.code == .cancelled, let ending = endingBySignal { return ending }
    if error.code == .closedOutput { return .signal(SIGPIPE) }
    stall.claimMessage()
    reporter.fatal(error)
    return .exit(ExitStatus(error))
  }

  /// Reports that an input is not what it should be, and returns the ending.
  func difference(_ error: BatchError) -> Ending {
    reporter.fatal(error)
    return .exit(.differences)
  }

  /// Reports a damaged input, or a file of the wrong kind.
  ///
  /// - Throws: any other error.
  func ending(ofDamaged error: BatchError) throws(BatchError) -> Ending {
    guard error.code == .malformed else { throw error }
    return difference(error)
  }

  /// The ending of a run that a signal stopped; nil without a signal.
  var endingBySignal: Ending? {
    // HUP ends a run like TERM, so the parent only ever sees INT or TERM.
    signal.withLock { $0 }.map { .signal($0 == SIGHUP ? SIGTERM : $0) }
  }

  /// How the command ends if the run was stopped or its rows are incomplete, which was reported; nil if a summary must follow.
  func endingBeforeSummary(_ summary: RunSummary) -> Ending? {
    if let ending = endingOfStopped(summary) { return ending }
    do throws(BatchError) {
      try output.finish()
      return nil
    } catch {
      return ending(after: error)
    }
  }

  private func received(_ number: Int32) {
    if number == SIGUSR1 {
      progress.withLock { $0 }?.printNow(context.concurrency.text, context.filesInProgress.files)
      return
    }
    let isFirst = signal.withLock { signal in
      defer { signal = signal ?? number }
      return signal == nil
    }
    guard isFirst else {
      // A second signal ends the process immediately.
      StagingArea.shared.removeAll()
      SignalSources.reraise(number == SIGHUP ? SIGTERM : number)
      return
    }
    cancellation.cancel(BatchError(.cancelled, "stopped by a signal"))
  }
}
