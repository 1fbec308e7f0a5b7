import BatchCore
import BatchEngine

extension BackupChoices {
  func set(_ session: Session, state: StatePlace? = nil) throws(BatchError) -> BackupSet {
    var set = try BackupSet(in: directory, named: name, session.context)
    set.keys = session.keys(keys)
    set.privateFolder = state
    return set
  }

  /// The selected snapshot. If a time or the beginning of an id was given, reports which snapshot it is.
  ///
  /// - Throws: `missing` when no snapshot matches, `ambiguous` when several match.
  func snapshot(
    of content: BackupSet.Content, in set: BackupSet, _ session: Session
  ) throws(BatchError) -> Snapshot {
    let snapshot = try set.opened(content, in: session.context).snapshot(at: place, of: series)
    Self.tell(snapshot, place, "--at", in: session)
    return snapshot
  }

  /// The snapshot at the selected place, or all snapshots of the selected series if no place was given.
  func snapshots(
    of content: BackupSet.Content, in set: BackupSet, _ session: Session
  ) throws(BatchError) -> [Snapshot] {
    if place == nil, series == SeriesChoice() { return content.snapshots }
    let content = try set.opened(content, in: session.context)
    guard place == nil else { return [try content.snapshot(at: place, of: series)] }
    return content.only(series).snapshots
  }

  /// Reports which snapshot a time or the beginning of an id means.
  static func tell(_ snapshot: Snapshot, _ place: SnapshotPlace?, _ option: String, in session: Session) {
    guard let place, place != .id(snapshot.name.stamp), !session.common.quiet, !session.common.json else {
      return
    }
    session.diagnostics.report("\(option) means the snapshot \(snapshot.label)", as: .note)
  }
}
