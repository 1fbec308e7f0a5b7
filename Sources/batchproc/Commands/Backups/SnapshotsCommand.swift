import BatchCore
import BatchEngine

/// `batchproc snapshots`.
struct SnapshotsCommand: Command {
  private let choices: BackupChoices
  private let common: CommonOptions
  private let showsDigests: Bool
  let session: Session

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    showsDigests = parsed.flag(.digests)
    self.common = common
    session = try Session(common, environment: environment)
  }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending {
    let source = try SetSource(choices, locks: false, session)
    let set = source.set
    let content = try source.content()
    if showsDigests { return try showDigests(of: choices.snapshot(of: content, in: session), in: set) }
    let chosen = choices.place == nil ? content.snapshots : [try content.snapshot(at: choices.place)]
    var hasFaults = !content.damaged.isEmpty
    let snapshots = try chosen.map { (snapshot) throws(BatchError) in
      try opened(snapshot, of: set, &hasFaults)
    }
    for error in content.damaged { session.reporter.met(Problem(.unreadable, error), severity: .failure) }
    var rows = [UInt8]()
    for snapshot in snapshots {
      let faults = content.faults(of: snapshot)
      hasFaults = hasFaults || !faults.isEmpty
      if let events = session.reporter as? JSONReporter {
        try write(snapshot, faults, to: events)
      } else {
        append(snapshot, to: &rows)
      }
      for fault in faults {
        let name = set.path(
          SnapshotName(set: set.name, stamp: fault, isEncrypted: snapshot.name.isEncrypted).archive)
        session.reporter.met(
          Problem(
            .unreadable,
            BatchError(
              .malformed, "is missing or has another size, and the snapshot \(snapshot.name.stamp) needs it",
              path: name)),
          severity: .failure)
      }
    }
    if let events = session.reporter as? JSONReporter {
      let faulty = snapshots.count { !content.faults(of: $0).isEmpty }
      try events.writeSummary { line in
        line.add("seen", snapshots.count + content.damaged.count)
        line.add("done", snapshots.count - faulty)
        line.add("failed", faulty + content.damaged.count)
      }
    }
    if !rows.isEmpty { try session.output.write(rows) }
    try session.output.finish()
    return .exit(hasFaults ? .differences : .success)
  }

  /// What the manifest says where it can be read, else what is known without a key.
  private func opened(
    _ snapshot: Snapshot, of set: BackupSet, _ hasFaults: inout Bool
  ) throws(BatchError) -> Snapshot {
    guard set.keys != nil else { return snapshot }
    do throws(BatchError) {
      return try set.opened(snapshot, in: session.context)
    } catch {
      guard error.code == .malformed else { throw error }
      hasFaults = true
      session.reporter.met(Problem(.unreadable, error), severity: .failure)
      return snapshot
    }
  }

  /// Whether it is known how many files a snapshot has.
  private func isKnown(_ snapshot: Snapshot) -> Bool { snapshot.companion == nil || snapshot.footer.rows > 0 }

  private func showDigests(of snapshot: Snapshot, in set: BackupSet) throws(BatchError) -> Ending {
    let results = ResultWriter(session: session, stream: session.output, isEvents: true)
    var count = 0
    try set.digests(of: snapshot, as: results.writesEvents ? .json : .gnu, in: session.context) {
      (rows) throws(BatchError) in
      count += rows.count
      try results.write(rows)
    }
    if let events = session.reporter as? JSONReporter { try events.writeSummary { $0.add("done", count) } }
    try session.output.finish()
    return .exit(.success)
  }

  private func append(_ snapshot: Snapshot, to rows: inout [UInt8]) {
    let (header, footer) = (snapshot.header, snapshot.footer)
    let columns = [
      header.name.stamp, CalendarTime(header.started.seconds).text,
      header.isFull ? "full   " : "+\(header.increment)".padding(to: 7),
      (isKnown(snapshot) ? ByteCount.files(Int(clamping: footer.files)) : "encrypted").leading(to: 15),
      (isKnown(snapshot) ? ByteCount.text(Int64(clamping: footer.bytes)) : "").leading(to: 11),
      ByteCount.text(Int64(clamping: footer.archiveSize)).leading(to: 11),
      footer.isVerified ? "verified" : "",
    ]
    rows += columns.joined(separator: "  ").trimmingSpaces.utf8
    rows.append(UInt8(ascii: "\n"))
  }

  private func write(_ snapshot: Snapshot, _ faults: [String], to events: JSONReporter) throws(BatchError) {
    let (header, footer) = (snapshot.header, snapshot.footer)
    try events.write("snapshot") { line in
      line.add("id", header.name.stamp)
      line.add("set", header.name.set.text ?? "")
      line.add("sequence", header.sequence)
      line.add("started", header.started.decimal)
      line.add("full", header.isFull)
      if isKnown(snapshot) {
        line.add("files", footer.files)
        line.add("bytes", footer.bytes)
      }
      line.add("encrypted", snapshot.name.isEncrypted)
      line.add("archive_bytes", footer.archiveSize)
      line.add("verified", footer.isVerified)
      line.add("archives", footer.needs.keys.sorted().joined(separator: " "))
      line.add("whole", faults.isEmpty)
    }
  }
}

extension String {
  fileprivate func padding(to width: Int) -> String {
    self + String(repeating: " ", count: max(0, width - count))
  }
  fileprivate func leading(to width: Int) -> String {
    String(repeating: " ", count: max(0, width - count)) + self
  }
  fileprivate var trimmingSpaces: Substring {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return text
  }
}
