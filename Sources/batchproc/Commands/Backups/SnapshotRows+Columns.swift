import BatchCore
import BatchEngine

/// How a snapshot is shown.
extension SnapshotRows {
  /// - Parameter usage: the bytes that only this snapshot needs; nil if they are unknown.
  func append(
    _ snapshot: Snapshot, _ damage: FoundDamage.Extent?, _ usage: UInt64?, to rows: inout [UInt8]
  ) {
    let (header, footer) = (snapshot.header, snapshot.footer)
    var columns = [
      header.name.stamp, CalendarTime(header.started.seconds).text,
      (header.isFull ? "full" : "+\(header.increment)").padding(to: isNarrow ? 5 : 7),
      (snapshot.isOpened ? ByteCount.files(Int(clamping: footer.files)) : "encrypted").leading(to: 15),
      (snapshot.isOpened ? ByteCount.text(Int64(clamping: footer.bytes)) : "").leading(to: isNarrow ? 9 : 11),
    ]
    let failures = Int(clamping: footer.failures ?? 0)
    if !isNarrow { columns.append(ByteCount.text(Int64(clamping: footer.archiveSize)).leading(to: 11)) }
    if showsUsage {
      columns.append((usage.map { ByteCount.text(Int64(clamping: $0)) } ?? "").leading(to: 11))
    }
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
    _ snapshot: Snapshot, _ faults: [SnapshotName], _ damage: FoundDamage.Extent?, _ usage: UInt64?,
    to events: JSONReporter
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
      if let usage { line.add("only_bytes", usage) }
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

extension SnapshotRows {
  /// The bytes that only one snapshot of a set needs, for each one whose archives can be read.
  func usage(
    of content: BackupSet.Content, in set: BackupSet, _ verdict: inout CallVerdict
  ) throws(BatchError) -> [SnapshotName: UInt64] {
    let all = try set.opened(content, in: session.context)
    let snapshots = all.snapshots + all.cut
    if snapshots.contains(where: { !$0.isOpened }) { throw AgeKeys.missing(set.directory) }
    let measure = try SetUsage(set, snapshots, in: session.context)
    var usage: [SnapshotName: UInt64] = [:]
    for snapshot in snapshots {
      do throws(BatchError) {
        usage[snapshot.name] = try measure.bytes(ofOnly: snapshot)
      } catch {
        try session.context.cancellation.check()
        // A missing archive has its own message.
        guard error.code != .missing else { continue }
        session.fail(error)
        verdict.insert(error.code == .malformed ? .differences : .someFailed)
      }
    }
    return usage
  }

  /// Whether the newest snapshot of each series is not too old, and not in the future; reports it otherwise.
  ///
  /// A series whose sources a newer one has too does not count.
  func isYoung(
    _ content: BackupSet.Content, _ set: BackupSet, _ maxAge: Int64
  ) throws(BatchError) -> Bool {
    let (now, limit) = (FileStatus.Time.now.seconds, DurationText.text(seconds: Double(maxAge)))
    let current = try set.opened(content, in: session.context).only(choices.series).snapshots
      .currentSeries(by: choices.grouping)
    var isYoung = true
    func report(_ text: String) {
      isYoung = false
      session.fail(BatchError(.missing, text, path: set.directory), as: .missing)
    }
    if current.isEmpty {
      let reason = content.snapshots.isEmpty ? "that can be read" : "of this machine and source"
      report("the set \(set.name) has no snapshot \(reason)")
    }
    for series in current {
      guard let newest = series.last(where: { !completeOnly || $0.isComplete }) else {
        report("the set \(set.name) has no snapshot without failures of \(series[0].header.origin)")
        continue
      }
      let age = now - newest.header.started.seconds
      let origin = current.count > 1 ? " of \(newest.header.origin)" : ""
      let name = "the newest snapshot of the set \(set.name)\(origin), \(newest.name.stamp),"
      if newest.isFuture(at: now) {
        report("\(name) is in the future")
      } else if age > maxAge {
        report("\(name) is \(DurationText.text(seconds: Double(age))) old, and --max-age is \(limit)")
      }
    }
    return isYoung
  }
}
