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

  private static let rules: [(OptionID, Retention.Rule)] = [
    (.copyKeepLast, .last), (.copyKeepDaily, .daily), (.copyKeepWeekly, .weekly),
    (.copyKeepMonthly, .monthly), (.copyKeepYearly, .yearly),
  ]

  init(_ parsed: ParsedCommand, remote: PathBytes, comparesContents: Bool = false) {
    (self.remote, self.comparesContents) = (remote, comparesContents)
    retention = parsed.retention(Self.rules)
    grouping = parsed.grouping
    isAppendOnly = parsed.flag(.appendOnly)
    leastUsed = parsed.leastUsed
    allowsPlain = parsed.flag(.plain)
  }

  /// The copies of a backup, in the order in which they were given. Options about copies that follow a place hold for it alone;
  /// those before the first place hold for all.
  ///
  /// - Throws: `UsageError` for a place that is given twice.
  static func all(_ parsed: ParsedCommand) throws(UsageError) -> [CopyChoices] {
    let (common, others) = split(parsed)
    var places: [(remote: PathBytes, options: [ParsedCommand.GivenOption])] = []
    for option in others {
      if option.id == .copyTo, case .bytes(let remote) = option.value {
        guard !places.contains(where: { $0.remote == remote }) else {
          throw UsageError("--copy-to \(quote(remote)) is given twice.", in: parsed.command)
        }
        places.append((remote, []))
      } else if isAboutPlace(option), !places.isEmpty {
        places[places.count - 1].options.append(option)
      }
    }
    let rest = others.filter { !isAboutPlace($0) }
    return places.map { remote, options in
      CopyChoices(
        ParsedCommand(
          command: parsed.command, given: rest + common + options, operands: parsed.operands),
        remote: remote)
    }
  }

  /// The options in an order that means the same when all of them stand on one command line.
  static func onOneLine(_ parsed: ParsedCommand) -> [ParsedCommand.GivenOption] {
    let (common, others) = split(parsed)
    return common + others
  }

  /// The options about copies that hold for all places, and the other options.
  private static func split(
    _ parsed: ParsedCommand
  ) -> (common: [ParsedCommand.GivenOption], others: [ParsedCommand.GivenOption]) {
    var (common, others): ([ParsedCommand.GivenOption], [ParsedCommand.GivenOption]) = ([], [])
    var isAfterPlace = false
    for (index, option) in parsed.given.enumerated() {
      // What a file or a profile says about copies and the command line about a place are not in one order.
      if parsed.sourceStarts.contains(index) { isAfterPlace = false }
      if option.id == .copyTo { isAfterPlace = true }
      if isAboutPlace(option), !isAfterPlace { common.append(option) } else { others.append(option) }
    }
    return (common, others)
  }

  /// Whether an option belongs to the place before it.
  static func isAboutPlace(_ option: ParsedCommand.GivenOption) -> Bool {
    option.id == .appendOnly || rules.contains { $0.0 == option.id }
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
