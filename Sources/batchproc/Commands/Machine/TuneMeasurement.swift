import BatchCore
import BatchEngine
import BatchOutputs

/// Runs the job that `tune` measures, on one sample and with one setting after the other.
struct TuneMeasurement: Sendable {
  /// Accepts all bytes and drops them.
  private struct Discarded: ResultStream {
    func write(_ bytes: [UInt8]) {}
    func finish() {}
  }

  /// The most files that are examined: more give no more information.
  private static let mostFiles = 200_000
  private static let trialFiles = 64
  /// The shortest trial in seconds.
  private static let shortestTrial = 0.05
  /// A run takes 1 / n of the time, within bounds in seconds.
  private static let partOfTime = 60.0
  private static let (shortestRun, longestRun) = (0.15, 3.0)

  private let job: TuneJob
  private let common: CommonOptions
  private let session: Session
  private let options: BatchOptions
  private let format = ArchiveFormat(named: "tar.zst") ?? ArchiveFormat.all[0]

  init(_ job: TuneJob, common: CommonOptions, session: Session) throws(BatchError) {
    self.job = job
    self.common = common
    self.session = session
    let memory =
      switch job {
      case .hash: 0
      case .compress: try CompressionFormat.gz.memoryOfLane(level: nil)
      case .archive: try format.memoryOfLane(level: nil)
      }
    options = try common.limits().options(Capacity.current(), laneMemory: memory)
  }

  /// The highest number of an adaptive run.
  var most: Int { options.mostConcurrency ?? options.concurrency }

  /// Selects enough files of a tree for a run of a useful length.
  ///
  /// - Throws: `missing` when the folder has no files.
  func sample(of folder: PathBytes, seconds: Double, _ device: DeviceFacts) throws(BatchError) -> TuneSample {
    var source = session.context.tree([folder], options: try common.walkOptions())
    var items: [WalkItem] = []
    while items.count < Self.mostFiles, let walked = source.next() {
      try session.cancellation.check()
      if case .item(let item) = walked, case .file(let record) = item, record.status.kind == .regular {
        items.append(item)
      }
    }
    guard !items.isEmpty else {
      throw BatchError(.missing, "contains no files to measure with", path: folder)
    }
    let all = items
    let start = ConcurrencySweep.Setting(concurrency: options.concurrency)
    // Enough files to measure the time; measured twice, because the first run also loads files into the page cache.
    var (trial, once, computed) = (Array(all.prefix(Self.trialFiles)), 0.0, 0.0)
    var isCold = false
    while true {
      let sample = TuneSample(
        items: trial, fewest: trial.count, operations: nil, total: all.count, isCold: isCold)
      _ = try measure(start, sample)
      isCold = device.kind != .memory && trial.prefix(50).allSatisfy { $0.dropFromCache() }
      let before = ProcessorTime.computed()
      once = try measure(
        start,
        TuneSample(items: trial, fewest: trial.count, operations: nil, total: all.count, isCold: isCold))
      computed = (ProcessorTime.computed() - before) / .seconds(1)
      guard once < Self.shortestTrial, trial.count < all.count else { break }
      trial = Array(all.prefix(trial.count * 4))
    }
    let wanted = min(Self.longestRun, max(Self.shortestRun, seconds / Self.partOfTime))
    var share = wanted / max(once, 1e-4) * TuneSample.work(trial) / max(TuneSample.work(all), 1)
    let isWaiting = computed < once * min(options.processors, Double(options.concurrency)) / 2
    let scale = isWaiting ? Double(max(1, most / max(1, options.concurrency))) : 1
    while true {
      let fewest = max(1, min(all.count, Int((Double(all.count) * share).rounded(.up))))
      let sample = TuneSample(
        items: share * scale >= 1 ? all : TuneSample.part(of: all, share * scale), fewest: fewest,
        operations: isWaiting ? options.concurrency : nil, total: all.count, isCold: isCold)
      // The trial may have been slow by chance. This run also loads the files of a warm sample into the page cache.
      let taken = try measure(start, sample)
      guard fewest < all.count, let larger = TuneSample.largerShare(than: share, taken: taken, wanted: wanted)
      else { return sample }
      share = larger
    }
  }

  /// Processes the sample once.
  ///
  /// - Returns: the seconds that it took, or that the fewest files of the sample would have taken.
  func measure(_ setting: ConcurrencySweep.Setting, _ sample: TuneSample) throws(BatchError) -> Double {
    let items = Array(sample.part(for: setting.concurrency))
    let taken = try run(setting, items, isCold: sample.isCold)
    guard sample.operations != nil else { return taken }
    return taken * TuneSample.work(items.prefix(sample.fewest)) / max(1, TuneSample.work(items))
  }

  private func run(
    _ setting: ConcurrencySweep.Setting, _ items: [WalkItem], isCold: Bool
  ) throws(BatchError) -> Double {
    try session.cancellation.check()
    if isCold { for item in items { item.dropFromCache() } }
    var options = options
    options.concurrency = setting.concurrency
    options.mostConcurrency = nil
    options.runsOnCaller = setting.concurrency == 1
    options.stride = setting.stride.map { .fixed($0) } ?? .automatic
    switch job {
    case .hash: return try seconds(of: HashCall(ManifestWriter(.gnu, algorithms: [.sha256])), items, options)
    case .archive:
      var call = ArchiveCall(ArchiveOptions(format: format), stride: setting.stride)
      call.output = .stream(Discarded())
      return try seconds(of: call, items, options)
    case .compress:
      let place = TemporaryFolder.place(ProcessArguments.environment)
      let folder = try TemporaryFolder(in: place, for: "tune", calls: session.context.calls)
      defer { withExtendedLifetime(folder) {} }
      var transform = OutputOptions(
        naming: OutputNaming(
          .adding(suffix: PathBytes(CompressionFormat.gz.suffix)), directory: folder.path))
      transform.isSynced = false
      return try seconds(of: CompressCall(.gz, level: nil, transform), items, options)
    }
  }

  /// How long a call takes, in seconds.
  private func seconds<C: Call>(
    of call: C, _ items: [WalkItem], _ options: BatchOptions
  ) throws(BatchError) -> Double {
    var (call, options) = (call, options)
    try options.setApart(for: &call)
    let run = RunContext(options: options, cancellation: session.cancellation)
    let outcome = try call.perform(.items(items), in: run, watchedBy: Unwatched()) { _ in }
    return try seconds(of: outcome.summary)
  }

  private func seconds(of summary: RunSummary) throws(BatchError) -> Double {
    if let stopped = summary.stopped { throw stopped }
    return summary.elapsed / .seconds(1)
  }
}
