import BatchCore
import BatchEngine
import Synchronization

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
  /// The folder for temporary directories of the user.
  let temporary: PathBytes
  /// Whether a further run continues the work that this one leaves.
  let resumes: Bool
  private let progressMode: ProgressMode
  private let progress = Mutex<ProgressDisplay?>(nil)
  /// Assigned when all values of the session are known, since its signals show them.
  private let signals = Mutex<SessionSignals?>(nil)
  /// The requested report; its files are excluded from the run.
  let report = Mutex<RunReport?>(nil)
  let recorder: RunRecorder?
  /// How long files take, if needed.
  let fileTimes: FileTimes?
  private let steering: RunSteering
  private let watch: ThreadWatch
  let stall: StallGuard
  /// The filter rules of the run, until the unmatched ones are reported.
  let rules = Mutex<PathFilter?>(nil)

  var cancellation: Cancellation { context.cancellation }

  /// Whether a status line at the bottom of the terminal may show progress.
  var showsStatus: Bool { progressMode == .bar }

  /// The session of a command that is one call; the call gets its share of the descriptors for outputs.
  ///
  /// - Parameters:
  ///   - resumes: whether a further run continues the work that this one leaves.
  ///   - shard: the shard of a plan that is processed; nil without one.
  ///   - observing: wraps the reporter in an observer.
  /// - Throws: `exhausted` when the process may open too few files.
  convenience init<C: Call>(
    _ common: CommonOptions, environment: Environment, for call: inout C, resumes: Bool = false,
    shard: ShardTask? = nil,
    observing: (any RunObserver) -> any RunObserver = { $0 }
  ) throws(BatchError) {
    var shared = call
    try self.init(
      common, environment: environment, laneMemory: call.limits.laneMemory, resumes: resumes,
      inputs: shard == nil ? 0 : ShardTask.descriptors,
      setApart: { (options: inout BatchOptions) throws(BatchError) in try options.setApart(for: &shared) },
      observing: { observing(shard?.recording($0) ?? $0) })
    call = shared
  }

  /// - Parameters:
  ///   - laneMemory: bytes that one operation takes at most.
  ///   - resumes: whether a further run continues the work that this one leaves.
  ///   - inputs: how many other files the source keeps open, such as a manifest.
  ///   - setApart: changes the options of the run.
  ///   - observing: wraps the reporter in an observer.
  /// - Throws: `exhausted` when the process may open too few files.
  init(
    _ common: CommonOptions, environment: Environment, laneMemory: Int = 0, resumes: Bool = false,
    inputs: Int = 0,
    setApart: (inout BatchOptions) throws(BatchError) -> Void = { _ in },
    observing: (any Reporter) -> any RunObserver = { $0 }
  ) throws(BatchError) {
    self.common = common
    temporary = TemporaryFolder.place(environment)
    caches = userFolder("XDG_CACHE_HOME", or: ".cache", environment)
    self.resumes = resumes
    // Before any thread exists: priorities are inherited.
    common.qos.apply()
    let cancellation = Cancellation()
    let outputs = SessionOutputs(common, cancellation, environment: environment)
    (diagnostics, progressMode, output) = (outputs.diagnostics, outputs.progressMode, outputs.output)
    (recorder, fileTimes) = (outputs.recorder, outputs.fileTimes)
    (events, reporter) = (outputs.events, outputs.reporter)
    let limits = common.limits(saved: Self.savedConcurrency(common, environment))
    var options = try limits.options(Capacity.current(), laneMemory: laneMemory)
    width = options.concurrency
    options.setApart(inputs + (common.fileLists.isEmpty ? 0 : 1) + (common.report == nil ? 0 : 2))
    try setApart(&options)
    context = RunContext(
      options: options, cancellation: cancellation, observer: observing(reporter), fileTimes: fileTimes)
    stall = StallGuard(common, context, reporter)
    watch = try stall.watchThreads()
    steering = RunSteering(common, context, diagnostics)
    let handler = SessionSignals(cancellation) { [weak self] in
      guard let self else { return }
      progress.withLock { $0 }?.printNow(self.context.concurrency.text, self.context.filesInProgress.files)
    }
    signals.withLock { $0 = handler }
    if let choice = common.report, let recorder {
      let opened = try RunReport(choice, recorder, isSynced: common.fsync, in: context)
      report.withLock { $0 = opened }
    }
  }

  /// The number that was saved for the device of the first path; nil if a number is given.
  private static func savedConcurrency(_ common: CommonOptions, _ environment: Environment) -> Int? {
    guard common.concurrency == nil, let operand = common.firstOperand else { return nil }
    let devices = SavedDevices(readingAt: SavedDevices.path(environment: environment))
    return devices.numbers.isEmpty ? nil : DeviceFacts.fileSystemID(of: operand).flatMap { devices[$0] }
  }

  /// Sets what the first signal does in place of a cancellation.
  func setStop(_ stop: (@Sendable () -> Void)?) { signals.withLock { $0 }?.setStop(stop) }

  /// The ending of a run that a signal stopped; nil without a signal.
  var endingBySignal: Ending? { signals.withLock { $0 }?.ending }

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
      pause: { concurrency.pause })
    progress.withLock { $0 = display }
    try? total?.startByHand()
    steering.start()
  }

  func ends(_ summary: RunSummary) {
    progress.withLock { $0.take() }?.end(isComplete: summary.stopped == nil)
    if summary.stopped == nil, summary.counts.missing == 0 { reportUnmatchedRules() }
  }

  /// Adds finished items to the progress.
  func advanced(_ count: Int) {
    progress.withLock { $0 }?.add(count)
  }
}
