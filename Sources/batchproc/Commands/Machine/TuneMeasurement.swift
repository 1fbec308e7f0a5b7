import BatchCore
import BatchEngine
import BatchOutputs

/// The files that each measurement of `tune` processes.
struct TuneSample: Sendable {
  /// Large files are cut into blocks of this size or more, in bytes.
  private static let smallestBlock: Int64 = 1 << 20

  /// The files for the highest concurrency.
  let items: [WalkItem]
  /// How many of them the lowest concurrency processes.
  let fewest: Int
  /// Up to this concurrency the fewest files are enough; above it, the number of files grows in proportion. Nil if all runs
  /// process all files.
  let operations: Int?
  /// The number of files in the tree.
  let total: Int
  /// Whether the kernel drops the content from its cache before each run.
  let isCold: Bool

  /// The files for a concurrency: on a device that serves many requests at once, each operation should get several chunks.
  func part(for concurrency: Int) -> ArraySlice<WalkItem> {
    guard let operations else { return items[...] }
    let (count, isTooMany) = fewest.multipliedReportingOverflow(by: max(1, concurrency / max(1, operations)))
    return items.prefix(isTooMany ? items.count : count)
  }

  /// The number of the fewest files, to which all times are scaled.
  var count: Int { min(fewest, items.count) }
  var byteCount: Int64 { items.prefix(fewest).reduce(into: 0) { $0.addClamped($1.size) } }

  /// Parts that different operations can process: the files, and blocks of large ones.
  var parts: Int {
    items.reduce(into: 0) { $0.addClamped(1 + Int(clamping: $1.size / Self.smallestBlock)) }
  }

  /// The work of a run over files, in bytes, with a fixed cost for each file.
  static func work(_ items: some Sequence<WalkItem>) -> Double {
    items.reduce(0) { $0 + Double($1.size) + 16_384 }
  }
}

extension WalkItem {
  fileprivate var size: Int64 { if case .file(let record) = self { record.status.size } else { 0 } }
}

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
  /// Consecutive files that stay together in a sample, because a folder is opened once for several files.
  private static let groupSize = 64
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
      isCold = device.kind != .memory && trial.prefix(50).allSatisfy { Self.drop($0) }
      let before = ProcessorTime.computed()
      once = try measure(
        start,
        TuneSample(items: trial, fewest: trial.count, operations: nil, total: all.count, isCold: isCold))
      computed = (ProcessorTime.computed() - before) / .seconds(1)
      guard once < Self.shortestTrial, trial.count < all.count else { break }
      trial = Array(all.prefix(trial.count * 4))
    }
    let wanted = min(Self.longestRun, max(Self.shortestRun, seconds / Self.partOfTime))
    let share = wanted / max(once, 1e-4) * TuneSample.work(trial) / max(TuneSample.work(all), 1)
    let isWaiting = computed < once * min(options.processors, Double(options.concurrency)) / 2
    let scale = isWaiting ? Double(max(1, most / max(1, options.concurrency))) : 1
    let fewest = max(1, min(all.count, Int((Double(all.count) * share).rounded(.up))))
    let sample = TuneSample(
      items: share * scale >= 1 ? all : Self.part(of: all, share * scale), fewest: fewest,
      operations: isWaiting ? options.concurrency : nil, total: all.count, isCold: isCold)
    // Loads the files into the page cache before the first counted run.
    if !isCold, !isWaiting { _ = try measure(start, sample) }
    return sample
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
    if isCold { for item in items { Self.drop(item) } }
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

  // MARK: Files

  /// Asks the kernel to drop a file from its cache; returns whether it did.
  @discardableResult
  private static func drop(_ item: WalkItem) -> Bool {
    guard case .file(let record) = item else { return true }
    return item.size == 0 || PageCache.drop(record.path) == true
  }

  /// Groups of consecutive files, spread over the tree.
  private static func part(of items: [WalkItem], _ share: Double) -> [WalkItem] {
    let groups = (items.count + groupSize - 1) / groupSize
    let wanted = min(groups, max(1, Int((Double(groups) * share).rounded(.up))))
    return (0..<wanted).flatMap { index in
      let start = index * groups / wanted * groupSize
      return items[start..<min(items.count, start + groupSize)]
    }
  }
}
