import BatchCore
import BatchEngine

/// Lists the snapshots of sets, one set after the other.
struct SnapshotRows {
  let session: Session
  let names: [PathBytes]
  /// How old the newest snapshot of a set may be, in seconds.
  let maxAge: Int64?

  private static let heading = [
    "ID".padding(to: 16), "TIME".padding(to: 16), "KIND".padding(to: 7), "FILES".leading(to: 15),
    "SIZE".leading(to: 11), "ARCHIVE".leading(to: 11),
  ].joined(separator: "  ")

  /// Begins the rows of a set, with a heading on a terminal.
  static func begin(_ set: PathBytes, of names: [PathBytes], _ heading: String, to rows: inout [UInt8]) {
    guard StandardStreams.isTerminal(.output) else { return }
    if names.count > 1 {
      if set != names.first { rows.append(UInt8(ascii: "\n")) }
      TerminalText.append(set.bytes, to: &rows)
      rows += ":\n".utf8
    }
    rows += heading.utf8
    rows.append(UInt8(ascii: "\n"))
  }

  /// Begins a row with the name of its set, if needed.
  static func append(_ set: PathBytes, of names: [PathBytes], to rows: inout [UInt8]) {
    guard names.count > 1, !StandardStreams.isTerminal(.output) else { return }
    TerminalText.append(set.bytes, to: &rows)
    rows += "  ".utf8
  }

  func list(_ sources: [SetSource], at place: SnapshotPlace?) throws(BatchError) -> Ending {
    var tally = (seen: 0, failed: 0)
    var hasFaults = false
    for source in sources {
      let content = try source.content()
      try list(content, of: source.set, at: place, &tally, &hasFaults)
      if let maxAge, !isYoung(content, source.set, maxAge) { hasFaults = true }
    }
    if let events = session.events {
      try events.writeSummary { line in
        line.add("seen", tally.seen)
        line.add("done", tally.seen - tally.failed)
        line.add("failed", tally.failed)
      }
    }
    try session.output.finish()
    return .exit(hasFaults ? .differences : .success)
  }

  private func list(
    _ content: BackupSet.Content, of set: BackupSet, at place: SnapshotPlace?,
    _ tally: inout (seen: Int, failed: Int), _ hasFaults: inout Bool
  ) throws(BatchError) {
    let chosen = place == nil ? content.snapshots : [try content.snapshot(at: place)]
    for error in content.damaged { session.fail(error) }
    tally.seen += chosen.count + content.damaged.count
    tally.failed += content.damaged.count
    hasFaults = hasFaults || !content.damaged.isEmpty
    var damage: FoundDamage?
    do throws(BatchError) {
      damage = try set.foundDamage()
    } catch {
      session.fail(error, severity: .warning)
    }
    var rows = [UInt8]()
    Self.begin(set.name, of: names, Self.heading, to: &rows)
    for snapshot in chosen {
      let snapshot = try opened(snapshot, of: set, &hasFaults)
      let faults = content.faults(of: snapshot)
      if !faults.isEmpty { tally.failed += 1 }
      hasFaults = hasFaults || !faults.isEmpty
      let extent = try damage.flatMap { (damage) throws(BatchError) in
        try set.extent(of: damage, in: snapshot, session.context)
      }
      if let events = session.events {
        try write(snapshot, faults, extent, to: events)
      } else {
        append(snapshot, extent, to: &rows)
      }
      for fault in faults {
        session.fail(set.path(fault.archive), neededBy: snapshot.name.stamp)
      }
    }
    if !rows.isEmpty, session.events == nil { try session.output.write(rows) }
  }

  /// Whether the newest snapshot of a set is not too old; reports it otherwise.
  private func isYoung(_ content: BackupSet.Content, _ set: BackupSet, _ maxAge: Int64) -> Bool {
    let text: String
    if let newest = content.snapshots.last {
      let age = FileStatus.Time.now.seconds - newest.header.started.seconds
      guard age > maxAge else { return true }
      text =
        "the newest snapshot of the set \(set.name), \(newest.name.stamp), is \(DurationText.text(seconds: Double(age))) old, and --max-age is \(DurationText.text(seconds: Double(maxAge)))"
    } else {
      text = "the set \(set.name) has no snapshot that can be read"
    }
    session.fail(BatchError(.missing, text, path: set.directory), as: .missing)
    return false
  }

  /// The facts of the manifest if it can be read, otherwise those known without a key.
  private func opened(
    _ snapshot: Snapshot, of set: BackupSet, _ hasFaults: inout Bool
  ) throws(BatchError) -> Snapshot {
    guard set.keys != nil else { return snapshot }
    do throws(BatchError) {
      return try set.opened(snapshot, in: session.context)
    } catch {
      guard error.code == .malformed else { throw error }
      hasFaults = true
      session.fail(error)
      return snapshot
    }
  }

  private func append(_ snapshot: Snapshot, _ damage: FoundDamage.Extent?, to rows: inout [UInt8]) {
    let (header, footer) = (snapshot.header, snapshot.footer)
    let columns = [
      header.name.stamp, CalendarTime(header.started.seconds).text,
      header.isFull ? "full   " : "+\(header.increment)".padding(to: 7),
      (snapshot.isOpened ? ByteCount.files(Int(clamping: footer.files)) : "encrypted").leading(to: 15),
      (snapshot.isOpened ? ByteCount.text(Int64(clamping: footer.bytes)) : "").leading(to: 11),
      ByteCount.text(Int64(clamping: footer.archiveSize)).leading(to: 11),
      damage?.text ?? (footer.isVerified ? "verified" : ""),
    ]
    Self.append(header.name.set, of: names, to: &rows)
    rows += columns.joined(separator: "  ").trimmingSpaces.utf8
    rows.append(UInt8(ascii: "\n"))
  }

  private func write(
    _ snapshot: Snapshot, _ faults: [SnapshotName], _ damage: FoundDamage.Extent?, to events: JSONReporter
  ) throws(BatchError) {
    let (header, footer) = (snapshot.header, snapshot.footer)
    try events.write("snapshot") { line in
      line.add("id", header.name.stamp)
      line.add("set", header.name.set.text ?? "")
      line.add("sequence", header.sequence)
      line.add("started", header.started.decimal)
      line.add("full", header.isFull)
      if snapshot.isOpened {
        line.add("files", footer.files)
        line.add("bytes", footer.bytes)
      }
      line.add("encrypted", snapshot.name.isEncrypted)
      line.add("archive_bytes", footer.archiveSize)
      line.add("verified", footer.isVerified && damage == nil)
      line.add("damaged", damage != nil)
      if let files = damage?.files { line.add("damaged_files", files) }
      line.add("archives", footer.needs.keys.sorted().joined(separator: " "))
      line.add("whole", faults.isEmpty)
    }
  }
}

extension FoundDamage.Extent {
  var text: String { files.map { "damaged (\(ByteCount.files($0)))" } ?? "damaged" }
}
