import BatchCore
import BatchEngine

/// What is known about one or two snapshots.
extension SnapshotsCommand {
  func showDigests(of snapshot: Snapshot, in set: BackupSet) throws(BatchError) -> Ending {
    let results = ResultWriter(session)
    var count = 0
    try set.digests(of: snapshot, as: results.writesEvents ? .json : .gnu, in: session.context) {
      (rows) throws(BatchError) in
      count += rows.count
      try results.write(rows)
    }
    if let events = session.events { try events.writeSummary { $0.add("done", count) } }
    try session.output.finish()
    return .exit(.success)
  }

  func compare(_ snapshots: [Snapshot], of set: BackupSet) throws(BatchError) -> Ending {
    let pair = try snapshots.map { (snapshot) throws(BatchError) in
      Comparand.snapshot(set.manifest(of: try set.opened(snapshot, in: session.context).name))
    }
    return try AuditRun(session: session).compare(pair[0], pair[1], aligns: false)
  }

  func list(
    _ snapshot: Snapshot, of set: BackupSet, _ names: ChosenNames
  ) throws(BatchError) -> Ending {
    let opened = try set.opened(snapshot, in: session.context)
    let reader = try SnapshotListReader(
      set.manifest(of: opened.name), selection: names.selection(), globs: names.texts,
      in: SourceContext(session.context))
    let form: MemberRows.Form = showsDigests ? .digests : showsLongRows ? .long : .names
    let rows = MemberRows(form: common.json ? .members : form, isNULEnded: endsRowsInNUL)
    let call = ListCall(.snapshot(reader)) { (member, bytes) in rows.append(member, to: &bytes) }
    return try session.list(call, noun: "path") { findings in
      session.report(unmatched: findings.unmatched, "nothing in the snapshot matches")
    }
  }
}
