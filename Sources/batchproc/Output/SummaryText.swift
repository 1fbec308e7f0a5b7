import BatchCore
import BatchEngine

/// The line for people at the end of a run.
struct SummaryText: Sendable {
  /// In the past: "hashed", "checked".
  let verb: String
  let files: Int
  let bytes: Int64
  /// Further counts with their words, such as `(2, "skipped")`; those of zero are left out.
  var others: [(count: Int, word: String)] = []

  /// Whether the time is that of one run over the bytes.
  var showsRate = true

  /// Counts that belong to the command, by the names that programs know them by.
  var tallies: [(count: Int, key: String)] = []

  /// `hashed 44,128 files, 465.0 MiB in 0.31 s (1.5 GiB/s); 2 skipped, 1 failed`
  ///
  /// - Parameter seconds: the time of the whole command.
  func line(seconds: Double) -> String {
    let rate = showsRate ? ByteCount.rate(bytes, seconds: seconds).map { " (\($0))" } ?? "" : ""
    let done = "\(verb) \(ByteCount.files(files)), \(ByteCount.text(bytes))"
    let rest = others.filter { $0.count != 0 }.map { "\(ByteCount.grouped($0.count)) \($0.word)" }
    return "\(done) in \(DurationText.text(seconds: seconds))\(rate)"
      + (rest.isEmpty ? "" : "; " + rest.joined(separator: ", "))
  }
}

extension Counters.Snapshot {
  /// What stands behind the number of skipped paths: `skipped (2 FIFOs, 1 socket, 30 filtered)`.
  var skippedWord: String {
    let words = skippedByReason.map { "\(ByteCount.grouped($0.count)) \($0.reason.word(for: $0.count))" }
    return words.isEmpty ? "skipped" : "skipped (\(words.joined(separator: ", ")))"
  }

  /// In an order that is always the same.
  var skippedByReason: [(reason: SkipReason, count: Int)] {
    reasons.sorted { $0.key.order < $1.key.order }.map { ($0.key, $0.value) }
  }
}

extension SkipReason {
  /// Special files first, then the others by their names.
  fileprivate var order: String {
    if case .special(let kind) = self { " \(kind.rawValue)" } else { key }
  }

  /// As programs know it, behind `skipped_`.
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
    case .unknownFormat: "in no known format"
    case .withoutFirst: "further names of these"
    case .repeated: "named twice"
    case .kept: "kept as they are"
    case .superseded: "superseded"
    case .notChosen: "not chosen"
    case .ignored: "ignored"
    case .text: "other lines"
    }
  }
}
