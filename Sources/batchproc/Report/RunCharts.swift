/// The charts of a run, from samples of its progress.
struct RunCharts: Sendable {
  /// More intervals cannot be distinguished.
  static let mostIntervals = 60

  private let samples: [RunFacts.Sample]

  init(_ samples: [RunFacts.Sample]) {
    guard let first = samples.first else {
      self.samples = []
      return
    }
    // Successive samples; only the last one of samples close together.
    var later = [first]
    for sample in samples.dropFirst() where sample.time > later[later.count - 1].time { later.append(sample) }
    let step = max(1, (later.count - 2) / Self.mostIntervals + 1)
    var kept = later.enumerated().filter { $0.offset.isMultiple(of: step) }.map(\.element)
    if let last = later.last, kept.last != last { kept.append(last) }
    self.samples = kept
  }

  /// Empty if no time has passed.
  var charts: [Chart] {
    guard let first = samples.first, let last = samples.last, last.time > first.time else { return [] }
    let axis = Chart.Axis.time(samples.map { $0.time - first.time })
    let seconds = last.time - first.time
    let duration = DurationText.text(seconds: seconds)
    let bytes = rates { Double($0.bytes) }
    let files = rates { Double($0.files) }
    let most = ByteCount.text(Int64(bytes.max() ?? 0))
    let middle = ByteCount.text(Int64(Double(last.bytes - first.bytes) / seconds))
    let rate = Decimals.text(Double(last.files - first.files) / seconds, 0)
    let allowed = samples.dropFirst().map { Double($0.allowed) }
    return [
      Chart(
        title: "Bytes", unit: .bytes, perSecond: true, noun: "", axis: axis,
        series: [.init(name: "", form: .area, values: bytes)],
        description: "Bytes read a second over \(duration): \(middle) on average, \(most) at most.",
        id: "bytes"),
      Chart(
        title: "Files", unit: .count, perSecond: true, noun: "files", axis: axis,
        series: [.init(name: "", form: .area, values: files)],
        description:
          "Files a second over \(duration): \(rate) on average, \(Decimals.text(files.max() ?? 0, 0)) at most.",
        id: "files"),
      Chart(
        title: "Concurrency", unit: .count, perSecond: false, noun: "operations", axis: axis,
        series: [
          .init(name: "allowed", form: .steps, values: allowed),
          .init(
            name: "running", form: .steps, values: samples.dropFirst().map { Double($0.running) },
            isSecond: true),
        ],
        description:
          "Operations at once over \(duration): from \(Decimals.text(allowed.min() ?? 0, 0)) to "
          + "\(Decimals.text(allowed.max() ?? 0, 0)) were allowed.",
        id: "concurrency"),
    ]
  }

  private func rates(_ value: (RunFacts.Sample) -> Double) -> [Double] {
    zip(samples, samples.dropFirst()).map { old, new in
      max(0, value(new) - value(old)) / (new.time - old.time)
    }
  }
}
