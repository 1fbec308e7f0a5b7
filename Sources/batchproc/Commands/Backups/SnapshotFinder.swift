import BatchCore
import BatchEngine
import Synchronization

/// Reports in which snapshots paths are, and where they changed.
struct SnapshotFinder {
  let session: Session
  let names: [PathBytes]
  let endsRowsInNUL: Bool

  private static let heading = [
    "ID".padding(to: 16), "CHANGE".padding(to: 7), "SIZE".leading(to: 11), "TIME".padding(to: 16),
    "SHA-256".padding(to: digits), "PATH",
  ].joined(separator: "  ")
  /// The digits of a digest in a text row.
  private static let digits = 12

  func find(
    _ chosen: ChosenNames, in sources: [SetSource], _ choices: BackupChoices
  ) throws(BatchError) -> Ending {
    let text = chosen.texts.first ?? ""
    var sets = SearchCall.Sets()
    for source in sources {
      let content = try source.content()
      sets.damaged += content.damaged.count
      for error in content.damaged { session.fail(error) }
      sets.found.append((source.set, try choices.snapshots(of: content, in: source.set, session)))
    }
    let (session, names, endsRowsInNUL) = (session, names, endsRowsInNUL)
    let begun = Mutex<PathBytes?>(nil)
    let call = SearchCall(PathSearch(text, isName: chosen.areNames)) { [sets] _ in sets }
    let outcome = try session.run(call, .items([])) { (found) throws(BatchError) in
      try session.write(found, as: "found", event: Self.fill) { path, rows in
        let isNew = begun.withLock { set in
          defer { set = path.set }
          return set != path.set
        }
        if isNew { SnapshotRows.begin(path.set, of: names, Self.heading, to: &rows) }
        SnapshotRows.append(path.set, of: names, to: &rows)
        Self.append(path, isNULEnded: endsRowsInNUL, to: &rows)
      }
    }
    if let ending = session.endingBeforeSummary(outcome.summary) { return ending }
    let (counts, found) = (outcome.summary.counts, outcome.result?.found ?? 0)
    if found == 0, sets.damaged + counts.failed == 0 {
      session.report(unmatched: [UnmatchedGlob(text)], "no snapshot has a path that matches")
    }
    session.reporter.summary(
      outcome.summary,
      text: SummaryText(
        verb: "searched", files: counts.done, noun: "snapshot", bytes: counts.byteCount,
        others: [(found, "found"), (sets.damaged + counts.failed, "failed")], tallies: [(found, "found")]))
    return .exit(ExitStatus(outcome.verdict))
  }

  private static func append(_ found: FoundPath, isNULEnded: Bool, to rows: inout [UInt8]) {
    let entry = found.entry
    let columns = [
      found.stamp, found.change.rawValue.padding(to: 7),
      (entry.kind == .file ? ByteCount.text(Int64(clamping: entry.size)) : "").leading(to: 11),
      CalendarTime(entry.modified.seconds).text,
      (entry.digest.map { String($0.hex.prefix(digits)) } ?? "").padding(to: digits),
    ]
    rows += columns.joined(separator: "  ").utf8
    rows += "  ".utf8
    if isNULEnded { rows += entry.path.bytes } else { TerminalText.append(entry.path.bytes, to: &rows) }
    if entry.kind == .directory { rows.append(UInt8(ascii: "/")) }
    rows.append(isNULEnded ? 0 : UInt8(ascii: "\n"))
  }

  private static func fill(_ line: inout JSONLine, _ found: FoundPath) {
    let entry = found.entry
    line.add("id", found.stamp)
    line.add("set", found.set.text ?? "")
    line.add("change", found.change.rawValue)
    line.add(path: entry.path)
    line.add("kind", entry.kind.word)
    if entry.kind == .file { line.add("size", entry.size) }
    line.add("mtime", time: entry.modified)
    if let digest = entry.digest { line.add("sha256", digest.hex) }
    if let target = entry.linkTarget { line.add(path: target, as: "target") }
  }
}
