import BatchCore
import BatchEngine

/// Lists the snapshots of sets, one set after the other.
struct SnapshotRows {
  let session: Session
  let choices: BackupChoices
  let names: [PathBytes]
  /// How old the newest snapshot of a series may be, in seconds.
  let maxAge: Int64?
  /// Whether only snapshots without failures count for the age.
  let completeOnly: Bool
  /// Whether the bytes that only one snapshot needs are shown.
  let showsUsage: Bool
  /// Whether rows must fit into 80 columns.
  let isNarrow = StandardStreams.isTerminal(.output) && StandardStreams.columns < 96

  private var heading: String {
    let columns = [
      "ID".padding(to: 16), "TIME".padding(to: 16), "KIND".padding(to: isNarrow ? 5 : 7),
      "FILES".leading(to: 15), "SIZE".leading(to: isNarrow ? 9 : 11),
    ]
    return
      (columns + (isNarrow ? [] : ["ARCHIVE".leading(to: 11)])
      + (showsUsage ? ["ONLY HERE".leading(to: 11)] : []))
      .joined(separator: "  ")
  }

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

  func list(_ sources: [SetSource]) throws(BatchError) -> Ending {
    var tally = (seen: 0, failed: 0)
    var verdict = CallVerdict()
    for source in sources {
      let content = try source.content()
      try list(content, of: source.set, &tally, &verdict)
      if let maxAge, try !isYoung(content, source.set, maxAge) { verdict.insert(.differences) }
    }
    if let events = session.events {
      try events.writeSummary { line in
        line.add("seen", tally.seen)
        line.add("done", tally.seen - tally.failed)
        line.add("failed", tally.failed)
      }
    }
    try session.output.finish()
    return .exit(ExitStatus(verdict))
  }

  private func list(
    _ content: BackupSet.Content, of set: BackupSet, _ tally: inout (seen: Int, failed: Int),
    _ verdict: inout CallVerdict
  ) throws(BatchError) {
    var chosen: [Snapshot] = []
    for snapshot in try choices.snapshots(of: content, in: set, session) {
      chosen.append(try opened(snapshot, of: set, &verdict))
    }
    // A key that opens none of them is probably the wrong one.
    if verdict.contains(.someFailed), !chosen.contains(where: \.isOpened) { verdict.insert(.nothing) }
    for error in content.damaged { session.fail(error) }
    tally.seen += chosen.count + content.damaged.count
    tally.failed += content.damaged.count
    if !content.damaged.isEmpty { verdict.insert(.differences) }
    var damage: FoundDamage?
    do throws(BatchError) {
      damage = try set.foundDamage()
    } catch {
      session.fail(error, severity: .warning)
    }
    let usage = showsUsage ? try usage(of: content, in: set, &verdict) : nil
    var rows = [UInt8]()
    Self.begin(set.name, of: names, heading, to: &rows)
    var extents: [SnapshotName: FoundDamage.Extent] = [:]
    for snapshot in chosen {
      let faults = content.faults(of: snapshot)
      if !faults.isEmpty { tally.failed += 1 }
      if !faults.isEmpty { verdict.insert(.differences) }
      let extent = try damage.flatMap { (damage) throws(BatchError) in
        try set.extent(of: damage, in: snapshot, session.context)
      }
      extents[snapshot.name] = extent
      if let events = session.events {
        try write(snapshot, faults, extent, usage?[snapshot.name], to: events)
      }
      for fault in faults {
        session.fail(set.path(fault.archive), neededBy: snapshot.name.stamp)
      }
    }
    let series = chosen.series(by: .hostAndSources)
    // Snapshots that are not complete come last: no series, rule or age counts them.
    var cut: [Snapshot] = []
    for snapshot in choices.place == nil ? content.only(choices.series).cut : [] {
      cut.append(try opened(snapshot, of: set, &verdict))
    }
    if let events = session.events {
      for snapshot in cut {
        try write(snapshot, content.faults(of: snapshot), nil, usage?[snapshot.name], to: events)
      }
    }
    session.warn(ofFailures: series)
    session.warn(ofUnlisted: content.unlisted, in: set.directory)
    session.warn(ofReplaced: content.replaced, in: set.directory)
    guard session.events == nil else { return }
    if StandardStreams.isTerminal(.output) {
      for snapshots in series {
        if let newest = snapshots.last {
          TerminalText.append(Array(newest.header.origin.utf8), to: &rows)
          rows.append(UInt8(ascii: "\n"))
        }
        for snapshot in snapshots {
          append(snapshot, extents[snapshot.name], usage?[snapshot.name], to: &rows)
        }
      }
    } else {
      for snapshot in chosen { append(snapshot, extents[snapshot.name], usage?[snapshot.name], to: &rows) }
    }
    for snapshot in cut { append(snapshot, nil, usage?[snapshot.name], to: &rows) }
    if !rows.isEmpty { try session.output.write(rows) }
  }
}
