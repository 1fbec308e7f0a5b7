import BatchCore
import BatchEngine

/// Where snapshots are copied to, and which copies are kept there.
struct CopyChoices: Sendable {
  let remote: PathBytes
  let retention: Retention
  /// Whether existing files are read and compared.
  let comparesContents: Bool
  /// Whether the remote refuses removals, which then do not count as failures.
  let isAppendOnly: Bool

  init(_ parsed: ParsedCommand, remote: PathBytes) {
    self.remote = remote
    let rules: [(OptionID, Retention.Rule)] = [
      (.copyKeepLast, .last), (.copyKeepDaily, .daily), (.copyKeepWeekly, .weekly),
      (.copyKeepMonthly, .monthly), (.copyKeepYearly, .yearly),
    ]
    var counts: [Retention.Rule: Int] = [:]
    for (id, rule) in rules { counts[rule] = parsed.count(id) }
    retention = Retention(counts: counts)
    comparesContents = parsed.command.id == .copy && parsed.flag(.checksum)
    isAppendOnly = parsed.flag(.appendOnly)
  }
}
