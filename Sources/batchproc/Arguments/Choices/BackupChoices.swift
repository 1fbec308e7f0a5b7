import BatchCore
import BatchEngine

/// What the commands about backups are asked for, beside the common options.
struct BackupChoices: Sendable {
  /// The directory of the snapshots.
  let directory: PathBytes
  var name: PathBytes?
  let retention: Retention
  let patience: SetLock.Patience
  let place: SnapshotPlace?
  /// Nil where nothing was given that opens encrypted snapshots.
  let keys: AgeKeys?

  /// The name of a set that may be new.
  ///
  /// - Throws: `UsageError` for a name that no set can have, or that would break a line of a crontab, unit or list.
  static func newName(_ parsed: ParsedCommand) throws(UsageError) -> PathBytes {
    let name = parsed.bytes(.setName) ?? "backup"
    do throws(BatchError) {
      try SnapshotName.check(name)
    } catch {
      throw UsageError("The value of '--name' is \(error.message).", in: parsed.command)
    }
    let breaksLines = name.text?.unicodeScalars.contains {
      [.control, .lineSeparator, .paragraphSeparator].contains($0.properties.generalCategory)
    }
    guard breaksLines == false else {
      throw UsageError("The value of '--name' has control characters.", in: parsed.command)
    }
    return name
  }

  init(_ parsed: ParsedCommand, directory: PathBytes) throws {
    self.directory = directory
    keys = try EncryptionChoices.keys(parsed)
    name = parsed.bytes(.setName)
    let rules: [(OptionID, Retention.Rule)] = [
      (.keepLast, .last), (.keepHourly, .hourly), (.keepDaily, .daily), (.keepWeekly, .weekly),
      (.keepMonthly, .monthly), (.keepYearly, .yearly),
    ]
    var counts: [Retention.Rule: Int] = [:]
    for (id, rule) in rules { counts[rule] = parsed.count(id) }
    retention = Retention(counts: counts, within: parsed.span(.keepWithin))
    patience = SetLock.Patience(limit: Double(parsed.duration(.lockWait) ?? 0))
    place = try parsed.bytes(.at).map { (at) throws(UsageError) in try Self.place(at, "'--at'", parsed) }
  }

  /// Which snapshot a value means.
  ///
  /// - Parameter label: of the value, for messages.
  static func place(
    _ text: PathBytes, _ label: String, _ parsed: ParsedCommand
  ) throws(UsageError) -> SnapshotPlace {
    do throws(BatchError) {
      return try SnapshotPlace(text)
    } catch {
      throw UsageError(
        """
        The value of \(label) \(error.message). Please give an id, 'latest', 'yesterday', a time such as \
        '2026-01-31 12:30', or an age such as '2h' or '3 days'.
        """, in: parsed.command)
    }
  }

  /// The set with what opens it.
  func set(_ session: Session, state: PathBytes? = nil) throws(BatchError) -> BackupSet {
    var set = try BackupSet(in: directory, named: name, session.context)
    set.keys = session.keys(keys)
    set.privateFolder = state
    return set
  }

  /// The snapshot that is meant. When a time or the beginning of an id was given, says which one it is.
  ///
  /// - Throws: `missing` when there is none, `ambiguous` when several fit.
  func snapshot(of content: BackupSet.Content, in session: Session) throws(BatchError) -> Snapshot {
    let snapshot = try content.snapshot(at: place)
    Self.tell(snapshot, place, "--at", in: session)
    return snapshot
  }

  /// Says which snapshot a time or the beginning of an id means.
  static func tell(_ snapshot: Snapshot, _ place: SnapshotPlace?, _ option: String, in session: Session) {
    guard let place, place != .id(snapshot.name.stamp), !session.common.quiet, !session.common.json else {
      return
    }
    session.diagnostics.report("\(option) means the snapshot \(snapshot.label)", as: .note)
  }
}
