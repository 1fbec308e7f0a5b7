import BatchCore
import BatchEngine

/// The output of `tune`: the table with its curve, and the recommended command line.
struct TuneRows: Sendable {
  private static let widest = 40

  let sweep: ConcurrencySweep
  let sample: TuneSample
  let device: DeviceFacts
  let job: TuneJob
  let folder: PathBytes
  let recommended: ConcurrencySweep.Recommendation

  /// The recommended command; its paths are quoted for a shell.
  var command: [UInt8] {
    var bytes = Array("batchproc \(job.rawValue) \(recommended.text) ".utf8)
    if job == .archive { bytes += "-o ARCHIVE.tar.zst ".utf8 }
    let isPlain = folder.bytes.allSatisfy { byte in
      byte > 0x2a && byte < 0x3b || byte > 0x3f && byte < 0x5b || byte > 0x60 && byte < 0x7b || byte == 0x5f
    }
    guard !isPlain || folder.bytes.first == UInt8(ascii: "-") else { return bytes + folder.bytes }
    bytes += (folder.bytes.first == UInt8(ascii: "-") ? "-- '" : "'").utf8
    for byte in folder.bytes {
      if byte == UInt8(ascii: "'") { bytes += "'\\''".utf8 } else { bytes.append(byte) }
    }
    return bytes + "'".utf8
  }

  var text: [UInt8] {
    var bytes = TerminalText.escape(folder.bytes)
    let part =
      sample.count == sample.total
      ? ByteCount.files(sample.total)
      : "\(ByteCount.grouped(sample.count)) of \(ByteCount.files(sample.total))"
    let state = sample.isCold ? "cold" : "warm (in memory)"
    bytes +=
      ": \(job.rawValue), \(part), \(ByteCount.text(sample.byteCount)), \(device.fileSystem), \(state)\n\n"
      .utf8
    bytes += "    -j      MiB/s    files/s  spread\n".utf8
    let best = sweep.points.map(\.median).min() ?? 1
    for point in sweep.points where !point.seconds.isEmpty {
      let mark = point.setting.concurrency == recommended.concurrency ? "*" : " "
      let bar = String(repeating: "#", count: Int(Double(Self.widest) * best / max(point.median, 1e-9)))
      bytes += "\(cells(point, String(point.setting.concurrency)))  \(mark) \(bar)\n".utf8
    }
    let strides = sweep.stridePoints.filter { !$0.seconds.isEmpty }
    if strides.count > 1 {
      bytes += "\nstride      MiB/s    files/s  spread\n".utf8
      for point in strides {
        bytes += "\(cells(point, point.setting.stride.map(String.init) ?? "auto"))\n".utf8
      }
    }
    if let reason = recommended.reasonText { bytes += "\n\(reason)\n".utf8 }
    return bytes + "\n".utf8 + command + "\n".utf8
  }

  /// A row of a table up to its spread.
  private func cells(_ point: ConcurrencySweep.Point, _ name: String) -> String {
    let seconds = max(point.median, 1e-9)
    let tenths = Int(min(1e12, Double(sample.byteCount) / 1_048_576 / seconds * 10).rounded())
    let files = Int(min(1e12, Double(sample.count) / seconds).rounded())
    let spread = point.spread.map { "\(Int(min(999, $0 * 100).rounded())) %" } ?? "?"
    let rate = "\(ByteCount.grouped(tenths / 10)).\(tenths % 10)"
    return [
      name.leading(to: 6), rate.leading(to: 9), ByteCount.grouped(files).leading(to: 9),
      spread.leading(to: 6),
    ].joined(separator: "  ")
  }

  var svg: String {
    TuningChart.svg(
      sweep.points, work: Double(sample.byteCount) / 1e6, unit: "MB/s",
      title: "batchproc \(job.rawValue), \(device.fileSystem), \(sample.isCold ? "cold" : "warm")",
      recommended: recommended.concurrency)
  }

  func write(to events: JSONReporter) throws(BatchError) {
    for point in sweep.points + sweep.stridePoints where !point.seconds.isEmpty {
      let seconds = max(point.median, 1e-9)
      try events.write("point") { line in
        line.add("concurrency", point.setting.concurrency)
        line.add("stride", point.setting.stride ?? 0)
        line.add("runs", point.seconds.count)
        line.add("seconds", point.median)
        if let spread = point.spread { line.add("spread", spread) }
        line.add("bytes_per_second", Double(sample.byteCount) / seconds)
        line.add("files_per_second", Double(sample.count) / seconds)
      }
    }
    try events.write("recommendation") { line in
      line.add("job", job.rawValue)
      if let number = recommended.concurrency { line.add("concurrency", number) }
      if let stride = recommended.stride { line.add("stride", stride) }
      if let reason = recommended.reasonText { line.add("reason", reason) }
      line.add("cold", sample.isCold)
      line.add("file_system", device.fileSystem)
      line.add("file_system_id", device.fileSystemID)
      line.add(path: PathBytes(command), as: "command")
    }
  }
}
