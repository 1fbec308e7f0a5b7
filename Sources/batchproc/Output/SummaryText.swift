import BatchCore
import BatchEngine

/// The summary line at the end of a run.
struct SummaryText: Sendable {
  /// In the past: "hashed", "checked".
  let verb: String
  let files: Int
  /// The noun for the counted things, instead of files.
  var noun = "file"
  /// The counted things in words, if a number and a noun are not enough.
  var things: String?
  /// The processed bytes; nil if they are not meaningful.
  let bytes: Int64?
  /// The total files and bytes if these are only a part; otherwise nil.
  var total: (files: Int, bytes: Int64)?
  /// The size of the output in bytes; nil without an output.
  var output: Int64?
  /// Processed things other than files, such as `(3, "folder")`; zero counts are omitted.
  var kinds: [(count: Int, noun: String)] = []
  /// Further counts with their words, such as `(2, "skipped")`; zero counts are omitted.
  var others: [(count: Int, word: String)] = []

  /// Whether the time is how long one pass over the bytes took.
  var showsRate = true

  /// Counts of the command, by their names in JSON.
  var tallies: [(count: Int, key: String)] = []

  /// In a shorter time, in seconds, a rate is not meaningful.
  private static let shortest = 0.1

  /// `hashed 44,128 files, 465.0 MiB in 0.31 s (1.5 GiB/s); 2 skipped, 1 failed`, or with an output `archived 79 files, 3
  /// folders: 1.0 MiB -> 195.0 KiB (19 %) in 0.31 s`.
  ///
  /// - Parameter seconds: the time of the whole command.
  func line(seconds: Double) -> String {
    let bytes = bytes ?? 0
    let rate =
      showsRate && seconds >= Self.shortest
      ? ByteCount.rate(bytes, seconds: seconds).map { " (\($0))" } ?? "" : ""
    let things =
      [
        self.things ?? total.map { "\(ByteCount.grouped(files)) of \(ByteCount.counted($0.files, noun))" }
          ?? ByteCount.counted(files, noun)
      ]
      + kinds.filter { $0.count > 0 }.map { ByteCount.counted($0.count, $0.noun) }
    let done = "\(verb) \(things.joined(separator: ", "))\(amount(bytes))"
    let rest = others.filter { $0.count != 0 }.map { "\(ByteCount.grouped($0.count)) \($0.word)" }
    return "\(done) in \(DurationText.text(seconds: seconds))\(rate)"
      + (rest.isEmpty ? "" : "; " + rest.joined(separator: ", "))
  }

  private func amount(_ bytes: Int64) -> String {
    guard let output, bytes > 0 || output > 0 else {
      guard files > 0, self.bytes != nil else { return "" }
      return ", " + ByteCount.text(bytes) + (total.map { " of \(ByteCount.text($0.bytes))" } ?? "")
    }
    let percent =
      output > 0 && output <= bytes ? " (\(Int((Double(output) / Double(bytes) * 100).rounded())) %)" : ""
    return ": \(ByteCount.text(bytes)) -> \(ByteCount.text(output))\(percent)"
  }
}

extension Counters.Snapshot {
  /// The text after the number of skipped paths: `skipped (2 FIFOs, 1 socket, 30 filtered)`.
  var skippedWord: String {
    let words = skippedByReason.map { "\(ByteCount.grouped($0.count)) \($0.reason.word(for: $0.count))" }
    return words.isEmpty ? "skipped" : "skipped (\(words.joined(separator: ", ")))"
  }

  /// The paths that were not processed, for a list of counts.
  var unprocessed: [(count: Int, word: String)] { [(skipped, skippedWord), (failed, "failed")] }

  /// The reasons in a fixed order.
  var skippedByReason: [(reason: SkipReason, count: Int)] {
    reasons.sorted { $0.key.order < $1.key.order }.map { ($0.key, $0.value) }
  }
}

extension SkipReason {
  /// Special files first, then the others by their names.
  fileprivate var order: String {
    if case .special(let kind) = self { " \(kind.rawValue)" } else { key }
  }

  /// The name in JSON, after `skipped_`.
  var key: String {
    switch self {
    case .special(let kind): kind.noun.lowercased().replacing(" ", with: "_")
    case .filtered: "filtered"
    case .vanished: "vanished"
    case .permitted(let event): "permitted_\(event.rawValue)"
    case .upToDate: "up_to_date"
    case .compressedAlready: "compressed_already"
    case .notSmaller: "not_smaller"
    case .unknownFormat: "unknown_format"
    case .withoutFirst: "without_first"
    case .notStarted: "not_started"
    case .repeated: "repeated"
    case .kept: "kept"
    case .superseded: "superseded"
    case .notChosen: "not_chosen"
    case .ignored: "ignored"
    case .text: "text"
    }
  }

  func word(for count: Int) -> String {
    switch self {
    case .special(let kind): kind.noun + (count == 1 ? "" : "s")
    case .filtered: "filtered"
    case .vanished: "vanished"
    case .permitted(let event): "\(event.rawValue) and passed over"
    case .upToDate: "up to date"
    case .compressedAlready: "compressed already"
    case .notSmaller: "would not be smaller"
    case .unknownFormat: "without a known suffix"
    case .withoutFirst: "further names of these"
    case .notStarted: "not started"
    case .repeated: "named twice"
    case .kept: "kept as they are"
    case .superseded: "superseded"
    case .notChosen: "not chosen"
    case .ignored: "ignored"
    case .text: "other lines"
    }
  }
}

extension RunSummary {
  /// The summary of a command that counts its work itself and reached its end.
  init(seen: Int, done: Int, failed: Int = 0, bytes: Int64, elapsed: Duration = .zero) {
    var counts = Counters.Snapshot()
    (counts.seen, counts.done, counts.failed, counts.byteCount) = (seen, done, failed, bytes)
    self.init(counts: counts, stopped: nil, elapsed: elapsed)
  }
}
