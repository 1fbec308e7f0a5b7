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

  /// Counts that belong to the command, by the names that programs know them by.
  var tallies: [(count: Int, key: String)] = []

  /// `hashed 44,128 files, 465.0 MiB in 0.31 s (1.5 GiB/s); 2 skipped, 1 failed`
  ///
  /// - Parameter seconds: the time of the whole command.
  func line(seconds: Double) -> String {
    let rate = ByteCount.rate(bytes, seconds: seconds).map { " (\($0))" } ?? ""
    let done = "\(verb) \(ByteCount.files(files)), \(ByteCount.text(bytes))"
    let rest = others.filter { $0.count != 0 }.map { "\(ByteCount.grouped($0.count)) \($0.word)" }
    return "\(done) in \(DurationText.text(seconds: seconds))\(rate)"
      + (rest.isEmpty ? "" : "; " + rest.joined(separator: ", "))
  }
}

extension Counters.Snapshot {
  /// What stands behind the number of skipped paths: `skipped (2 FIFOs, 1 socket)`.
  var skippedWord: String {
    let kinds = skippedByKind.map { kind, count in
      "\(ByteCount.grouped(count)) \(kind.noun)\(count == 1 ? "" : "s")"
    }
    return kinds.isEmpty ? "skipped" : "skipped (\(kinds.joined(separator: ", ")))"
  }

  /// In an order that is always the same.
  var skippedByKind: [(kind: FileStatus.Kind, count: Int)] {
    skippedKinds.sorted { $0.key.rawValue < $1.key.rawValue }.map { ($0.key, $0.value) }
  }
}
