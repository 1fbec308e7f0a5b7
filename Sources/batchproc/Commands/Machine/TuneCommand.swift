import BatchCore
import BatchEngine
import BatchOutputs

struct TuneCommand: Command {
  private static let defaultSeconds: Int64 = 30

  private let folder: PathBytes
  private let job: TuneJob
  private let most: Int?
  private let seconds: Double
  private let plot: PathBytes?
  private let isSaved: Bool
  private let devices: PathBytes?
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws(BatchError) {
    folder = parsed.operands.first ?? "."
    job = parsed.choice(.job) ?? .hash
    most = parsed.count(.most)
    seconds = Double(parsed.duration(.seconds) ?? Self.defaultSeconds)
    plot = parsed.bytes(.plot)
    isSaved = parsed.flag(.save)
    devices = SavedDevices.path(environment: environment)
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    if isSaved, devices == nil {
      throw BatchError(.invalid, "--save finds no place: neither XDG_STATE_HOME nor HOME is set")
    }
    let device = try DeviceFacts(of: folder)
    let bench = try TuneMeasurement(job, common: common, session: session)
    let start = ContinuousClock.now
    func elapsed() -> Double { (ContinuousClock.now - start) / .seconds(1) }
    do throws(BatchError) {
      let sample = try bench.sample(of: folder, seconds: seconds, device)
      var sweep = ConcurrencySweep(
        most: min(most ?? bench.most, session.context.affordable(most ?? bench.most)),
        parts: sample.parts, seconds: seconds)
      while let setting = sweep.next(elapsed: elapsed()) {
        show("measuring \(setting.text), \(Int(elapsed())) of about \(Int(seconds)) s")
        sweep.measured(seconds: try bench.measure(setting, sample))
      }
      show("")
      return try report(sweep, sample, device, seconds: elapsed())
    } catch {
      show("")
      try session.cancellation.check()
      throw error
    }
  }

  private func show(_ text: String) {
    guard session.showsStatus else { return }
    session.diagnostics.show(status: Array(text.utf8))
  }

  private func report(
    _ sweep: ConcurrencySweep, _ sample: TuneSample, _ device: DeviceFacts, seconds: Double
  ) throws(BatchError) -> Ending {
    guard let best = sweep.recommendation else {
      throw BatchError(.invalid, "the time was too short for one measurement", remedy: "give more --seconds")
    }
    let rows = TuneRows(
      sweep: sweep, sample: sample, device: device, job: job, folder: folder, recommended: best)
    if let plot {
      let file = try OutputFile(plot, isReplacing: true, isSynced: true, in: session.context)
      try file.write(Array(rows.svg.utf8))
      try file.finish()
    }
    if isSaved, let devices, let number = best.concurrency { try save(number, device, at: devices) }
    if let events = session.events {
      try rows.write(to: events)
    } else {
      try session.output.write(rows.text)
      if isSaved, best.concurrency == nil {
        session.diagnostics.report("nothing was saved: the measurements do not show a best number", as: .note)
      }
      if best.stride != nil, job == .archive {
        session.diagnostics.report(
          "--stride decides how archives are cut: another one makes other bytes of the same tree", as: .note)
      }
    }
    let runs = (sweep.points + sweep.stridePoints).map(\.seconds.count).reduce(0, +)
    let summary = RunSummary(
      seen: sample.count, done: sample.count, bytes: sample.byteCount, elapsed: .seconds(seconds))
    if let ending = session.endingBeforeSummary(summary) { return ending }
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "measured \(runs) runs over", files: sample.count, bytes: sample.byteCount,
        showsRate: false, tallies: [(runs, "runs")]))
    return .exit(.success)
  }

  private func save(_ number: Int, _ device: DeviceFacts, at path: PathBytes) throws(BatchError) {
    var saved = SavedDevices(readingAt: path)
    saved[device.fileSystemID] = number
    try FolderMaker(calls: session.context.calls).make(path.parent, permissions: 0o700)
    let file = try OutputFile(path, isReplacing: true, isSynced: true, in: session.context)
    try file.write(saved.content)
    try file.finish()
  }
}

extension ConcurrencySweep.Setting {
  /// As options: `-j 12 --stride 64`.
  var text: String { "-j \(concurrency)" + (stride.map { " --stride \($0)" } ?? "") }
}

extension ConcurrencySweep.Recommendation {
  /// As options: `-j 12 --stride 64`, `-j auto`.
  var text: String {
    "-j \(concurrency.map(String.init) ?? "auto")" + (stride.map { " --stride \($0)" } ?? "")
  }

  /// One sentence about why it is not simply the fastest setting; nil if it is.
  var reasonText: String? {
    func percent(_ part: Double) -> String { "\(Int(min(999, part * 100).rounded(.up))) %" }
    return switch reason {
    case nil: nil
    case .fewParts:
      "There is too little to process for more operations at once: auto finds the number in each run."
    case .shortRuns(let seconds):
      "A run takes \(DurationText.text(seconds: seconds)), too short to tell settings apart: auto finds the number in each run."
    case .noise(let noise):
      "Runs with one setting differ by \(percent(noise)), and so do the settings: auto finds the number in each run."
    case .flat(let part): "All numbers are as fast within \(percent(part)): the smallest one is enough."
    case .nearest(let part):
      "Larger numbers are not faster by more than the \(percent(part)) that runs differ by."
    }
  }
}
