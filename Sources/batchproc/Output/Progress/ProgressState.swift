/// The progress of a run so far.
struct ProgressState: Sendable, Equatable {
  var filesDone = 0
  /// The total number of files; nil while unknown.
  var filesTotal: Int?
  var bytesDone: Int64 = 0
  /// The total bytes; nil while unknown.
  var bytesTotal: Int64?
  /// Seconds since the start by a monotonic clock.
  var elapsed: Double = 0
  var isFinished = false
  /// The last part of the run, for the rate and the remaining time; nil uses the whole run.
  var recent: ProgressWindow.Work?

  /// Why the run is paused; nil if it is not.
  var pause: String?

  /// The finished fraction, by bytes if there are any, otherwise by files; nil without totals.
  var fraction: Double? {
    if isFinished { return 1 }
    if let bytesTotal, bytesTotal > 0 { return min(1, max(0, Double(bytesDone) / Double(bytesTotal))) }
    if let filesTotal, filesTotal > 0 { return min(1, max(0, Double(filesDone) / Double(filesTotal))) }
    return nil
  }

  /// Seconds until the end at the rate of the last part; nil if unknown.
  func secondsLeft(at fraction: Double?) -> Double? {
    guard !isFinished, let fraction, fraction > 0 else { return nil }
    guard let recent else { return elapsed > 0 ? elapsed / fraction - elapsed : nil }
    let (total, done) =
      if let bytesTotal, bytesTotal > 0 { (Double(bytesTotal), Double(recent.bytes)) } else {
        (Double(filesTotal ?? 0), Double(recent.files))
      }
    guard done > 0, total > 0 else { return nil }
    return total * (1 - fraction) / done * recent.seconds
  }

  /// The parts of the progress text.
  struct Parts {
    /// `123.4 MiB of 465.0 MiB`
    let bytes: String
    /// `12,345 of 44,128 files`
    let files: String
    /// `1.5 GiB/s`; nil before anything is known.
    let rate: String?
    /// `0.31 s left`, or `paused`
    let time: String
    /// Why the run is paused; nil if it is not.
    let pause: String?

    /// Bytes come first: the number of files does not change while a large one is read.
    var all: [String] { [bytes, files] + (rate.map { [$0] } ?? []) + [time] + (pause.map { [$0] } ?? []) }
  }

  func parts(at fraction: Double?) -> Parts {
    let files = filesTotal.map { total in
      "\(ByteCount.grouped(filesDone)) of \(ByteCount.files(max(total, filesDone)))"
    }
    let bytes = ByteCount.text(bytesDone)
    let all = bytesTotal.map { " of \(ByteCount.text(max($0, bytesDone)))" } ?? ""
    let rate =
      recent.map { ByteCount.rate($0.bytes, seconds: $0.seconds) }
      ?? ByteCount.rate(bytesDone, seconds: elapsed)
    let time = secondsLeft(at: fraction).map { "\(DurationText.text(seconds: $0)) left" }
    return Parts(
      bytes: bytes + all, files: files ?? ByteCount.files(filesDone), rate: rate,
      time: pause == nil ? time ?? "\(DurationText.text(seconds: elapsed)) elapsed" : "paused", pause: pause)
  }
}
