import BatchCore
import BatchEngine

/// Where snapshots are copied to, and which copies are kept there.
struct CopyChoices: Sendable {
  let remote: PathBytes
  let retention: Retention
  let grouping: Series.Grouping
  /// Whether existing files are read and compared.
  let comparesContents: Bool
  /// Whether the remote refuses removals, which then do not count as failures.
  let isAppendOnly: Bool
  /// An archive of a directory is compacted if less of it is needed there, in percent; 0 for none.
  let leastUsed: Int
  /// How much recovery data are made of copies that have none; nil for none.
  var parity: ParityOptions?
  /// Whether unencrypted snapshots of a set with encrypted ones are copied too.
  let allowsPlain: Bool

  init(_ parsed: ParsedCommand, remote: PathBytes, comparesContents: Bool = false) {
    (self.remote, self.comparesContents) = (remote, comparesContents)
    let rules: [(OptionID, Retention.Rule)] = [
      (.copyKeepLast, .last), (.copyKeepDaily, .daily), (.copyKeepWeekly, .weekly),
      (.copyKeepMonthly, .monthly), (.copyKeepYearly, .yearly),
    ]
    retention = parsed.retention(rules)
    grouping = parsed.grouping
    isAppendOnly = parsed.flag(.appendOnly)
    leastUsed = parsed.leastUsed
    allowsPlain = parsed.flag(.plain)
  }
}

extension ParsedCommand {
  var grouping: Series.Grouping { choice(.groupBy) ?? .hostAndSources }

  /// In percent.
  var leastUsed: Int {
    flag(.compact, initially: true) ? count(.minUsed) ?? PruneCall.usualLeastUsed : 0
  }

  func retention(_ rules: [(OptionID, Retention.Rule)], within: Retention.Span? = nil) -> Retention {
    Retention(counts: rules.reduce(into: [:]) { $0[$1.1] = count($1.0) }, within: within)
  }
}
