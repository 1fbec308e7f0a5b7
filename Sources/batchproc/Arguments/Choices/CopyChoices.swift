import BatchCore
import BatchEngine

/// Where snapshots are copied to, and which copies stay there.
struct CopyChoices: Sendable {
  let remote: PathBytes
  let retention: Retention
  /// Whether files that are there are read and compared.
  let comparesContents: Bool
  /// Whether the remote refuses removals, which is no failure then.
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
