import BatchCore
import BatchEngine

/// The options of the backup commands, in addition to the common ones.
struct BackupChoices: Sendable {
  let directory: PathBytes
  var name: PathBytes?
  let retention: Retention
  let grouping: Series.Grouping
  let patience: SetLock.Patience
  /// An archive is compacted if less of it is needed, in percent; 0 for none.
  let leastUsed: Int
  let place: SnapshotPlace?
  /// The series among which a snapshot is selected.
  let series: SeriesChoice
  /// Nil if no key for encrypted snapshots was given.
  let keys: AgeKeys?

  /// The name of a set, which may be new.
  ///
  /// - Throws: `UsageError` for an invalid name, or one that would break a line of a crontab, unit or list.
  static func newName(_ parsed: ParsedCommand) throws(UsageError) -> PathBytes {
    let name = parsed.bytes(.setName) ?? "backup"
    do throws(BatchError) {
      try SnapshotName.checkNew(name)
    } catch {
      throw UsageError("The value of '--name' is \(error.message).", in: parsed.command)
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
    retention = parsed.retention(rules, within: parsed.span(.keepWithin))
    grouping = parsed.grouping
    series = SeriesChoice(
      host: parsed.bytes(.host)?.text, source: parsed.bytes(.source).map(BackupTarget.place))
    leastUsed = parsed.leastUsed
    patience = SetLock.Patience(limit: Double(parsed.duration(.lockWait) ?? 0))
    place = try parsed.bytes(.at).map { (at) throws(UsageError) in try Self.place(at, "'--at'", parsed) }
  }

  /// The snapshot selected by a value.
  ///
  /// - Parameter label: the name of the option, for messages.
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
}
