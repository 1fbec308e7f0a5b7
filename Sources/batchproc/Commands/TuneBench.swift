import BatchCore
import BatchEngine
import Foundation

/// The files that each measurement of `tune` processes.
struct TuneSample: Sendable {
  let items: [WalkItem]
  /// Files of the tree that it was taken from.
  let total: Int
  let byteCount: Int64
  /// Whether the kernel forgets the content before each run.
  let isCold: Bool
}

/// Runs the job that `tune` measures, on one sample and with one setting after the other.
struct TuneBench: Sendable {
  /// Takes everything, and keeps nothing.
  private struct Discarded: ResultStream {
    func write(_ bytes: [UInt8]) {}
    func finish() {}
  }

  /// Files that are looked at: more say no more.
  private static let mostFiles = 200_000
  private static let trialFiles = 400
  private static let trialBytes: Int64 = 64 << 20
  /// Neighbours that stay together in a sample, since folders are opened once for several files.
  private static let groupSize = 64
  /// A run takes so much of the time, within bounds in seconds.
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
    options = try common.batchOptions(Capacity.current(), laneMemory: memory)
  }

  /// The number that an adaptive run would not exceed.
  var most: Int { options.mostConcurrency ?? options.concurrency }

  /// Takes as many files of a tree as make a run of a useful length.
  ///
  /// - Throws: `missing` when there are none.
  func sample(of folder: PathBytes, seconds: Double, _ device: DeviceFacts) throws(BatchError) -> TuneSample {
    var source = session.context.tree([folder], options: try common.walkOptions())
    var items: [WalkItem] = []
    while items.count < Self.mostFiles, let item = source.next() {
      try session.cancellation.check()
      if case .file(let record) = item, record.status.kind == .regular { items.append(item) }
    }
    guard !items.isEmpty else { throw BatchError(.missing, "holds no files to measure with", path: folder) }
    let all = items
    var trial: [WalkItem] = []
    var trialBytes: Int64 = 0
    for item in items.prefix(Self.trialFiles) where trialBytes < Self.trialBytes {
      trial.append(item)
      trialBytes += Self.size(of: item)
    }
    // Twice: the first run also loads what the later ones find in memory.
    let start = ConcurrencySweep.Setting(concurrency: options.concurrency)
    let trialSample = TuneSample(items: trial, total: all.count, byteCount: trialBytes, isCold: false)
    _ = try measure(start, trialSample)
    let isCold = device.kind != .memory && trial.prefix(50).allSatisfy { Self.drop($0) }
    let once = try measure(
      start, TuneSample(items: trial, total: all.count, byteCount: trialBytes, isCold: isCold))
    let wanted = min(Self.longestRun, max(Self.shortestRun, seconds / Self.partOfTime))
    let share = wanted / max(once, 1e-4) * Self.work(trial) / max(Self.work(all), 1)
    let chosen = share >= 1 ? all : Self.part(of: all, share)
    let sample = TuneSample(
      items: chosen, total: all.count, byteCount: chosen.reduce(0) { $0 + Self.size(of: $1) }, isCold: isCold)
    // What stays in memory is to be there before the first run that counts.
    if !isCold { _ = try measure(start, sample) }
    return sample
  }

  /// Processes the sample once.
  ///
  /// - Returns: the seconds that it took.
  /// - Throws: why it was stopped.
  func measure(_ setting: ConcurrencySweep.Setting, _ sample: TuneSample) throws(BatchError) -> Double {
    try session.cancellation.check()
    if sample.isCold { for item in sample.items { Self.drop(item) } }
    var options = options
    options.concurrency = setting.concurrency
    options.mostConcurrency = nil
    options.runsOnCaller = setting.concurrency == 1
    switch job {
    case .hash:
      options.stride = setting.stride.map { .fixed($0) } ?? .automatic
      let run = RunContext(options: options, cancellation: session.cancellation)
      let writer = try ManifestWriter(.gnu, algorithms: [.sha256])
      let job = HashJob(algorithms: [.sha256]) { (row, bytes) throws(BatchError) in
        try writer.append(row, to: &bytes)
      } output: { _ in
      }
      return try seconds(of: BatchRunner(run).run(job, over: run.tree(of: sample.items)).summary)
    case .archive:
      options.stride = format.stride(count: setting.stride)
      let run = RunContext(options: options, cancellation: session.cancellation)
      let archive = ArchiveOptions(format: format)
      let job = ArchiveJob(archive, output: Discarded()) { (_) throws(BatchError) in }
      let source = try ArchiveSource(run.tree(of: sample.items), options: archive)
      return try seconds(of: BatchRunner(run).run(job, over: source).summary)
    case .compress:
      options.stride = setting.stride.map { .fixed($0) } ?? .automatic
      return try compress(sample, options)
    }
  }

  private func compress(_ sample: TuneSample, _ given: BatchOptions) throws(BatchError) -> Double {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "batchproc-tune-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    var transform = TransformOptions(
      naming: OutputNaming(
        .adding(suffix: PathBytes(CompressionFormat.gz.suffix)), directory: PathBytes(folder.path)))
    transform.isSynced = false
    var options = given
    try options.shareDescriptors(with: &transform)
    _ = try transform.naming.makeDirectory()
    let run = RunContext(options: options, cancellation: session.cancellation)
    let source = try CompressSource(
      run.tree(of: sample.items), operandCount: nil, format: .gz, level: nil, options: transform,
      cancellation: session.cancellation)
    let job = try CompressJob(.gz, level: nil, options: transform, output: Discarded()) {
      (_) throws(BatchError) in
    }
    return try seconds(of: BatchRunner(run).run(job, over: source).summary)
  }

  private func seconds(of summary: RunSummary) throws(BatchError) -> Double {
    if let stopped = summary.stopped { throw stopped }
    return summary.elapsed / .seconds(1)
  }

  // MARK: Files

  private static func size(of item: WalkItem) -> Int64 {
    if case .file(let record) = item { record.status.size } else { 0 }
  }

  /// What a run over files takes, in bytes: each file costs something by itself.
  private static func work(_ items: [WalkItem]) -> Double {
    items.reduce(0) { $0 + Double(size(of: $1)) + 16_384 }
  }

  /// Asks the kernel to forget a file; whether it did.
  @discardableResult
  private static func drop(_ item: WalkItem) -> Bool {
    guard case .file(let record) = item else { return true }
    return record.status.size == 0 || PageCache.drop(record.path) == true
  }

  /// Groups of neighbours from all over the tree.
  private static func part(of items: [WalkItem], _ share: Double) -> [WalkItem] {
    let groups = (items.count + groupSize - 1) / groupSize
    let wanted = min(groups, max(1, Int((Double(groups) * share).rounded(.up))))
    return (0..<wanted).flatMap { index in
      let start = index * groups / wanted * groupSize
      return items[start..<min(items.count, start + groupSize)]
    }
  }
}
