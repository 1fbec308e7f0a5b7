import BatchCore
import BatchEngine

/// How a snapshot is shown.
extension SnapshotRows {
  func append(_ snapshot: Snapshot, _ damage: FoundDamage.Extent?, to rows: inout [UInt8]) {
    let (header, footer) = (snapshot.header, snapshot.footer)
    var columns = [
      header.name.stamp, CalendarTime(header.started.seconds).text,
      (header.isFull ? "full" : "+\(header.increment)").padding(to: isNarrow ? 5 : 7),
      (snapshot.isOpened ? ByteCount.files(Int(clamping: footer.files)) : "encrypted").leading(to: 15),
      (snapshot.isOpened ? ByteCount.text(Int64(clamping: footer.bytes)) : "").leading(to: isNarrow ? 9 : 11),
    ]
    let failures = Int(clamping: footer.failures ?? 0)
    if !isNarrow { columns.append(ByteCount.text(Int64(clamping: footer.archiveSize)).leading(to: 11)) }
    if footer.isCut {
      columns.append("incomplete")
    } else if let damage {
      columns.append(damage.text)
    } else if failures == 0 || !isNarrow {
      columns.append((footer.isVerified ? "verified" : "").padding(to: 8))
    }
    if failures > 0 { columns.append("\(ByteCount.counted(failures, "failure"))") }
    if !StandardStreams.isTerminal(.output) { columns.append(header.origin) }
    Self.append(header.name.set, of: names, to: &rows)
    TerminalText.append(Array(columns.joined(separator: "  ").trimmingSpaces.utf8), to: &rows)
    rows.append(UInt8(ascii: "\n"))
  }

  func write(
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
      if footer.isCut { line.add("complete", false) }
      line.add("verified", footer.isVerified && damage == nil)
      line.add("damaged", damage != nil)
      if let files = damage?.files { line.add("damaged_files", files) }
      line.add("archives", footer.needs.keys.sorted().joined(separator: " "))
      line.add("whole", faults.isEmpty)
      snapshot.addOrigin(to: &line)
    }
  }
}

extension FoundDamage.Extent {
  var text: String { files.map { "damaged (\(ByteCount.files($0)))" } ?? "damaged" }
}

extension SnapshotRows {
  /// The facts of the manifest if it can be read, otherwise those known without a key.
  func opened(
    _ snapshot: Snapshot, of set: BackupSet, _ verdict: inout CallVerdict
  ) throws(BatchError) -> Snapshot {
    guard set.keys != nil else { return snapshot }
    do throws(BatchError) {
      return try set.opened(snapshot, in: session.context)
    } catch {
      switch error.code {
      case .malformed: verdict.insert(.differences)
      case .unsupported: verdict.insert(.someFailed)
      default: throw error
      }
      session.fail(error)
      return snapshot
    }
  }
}
