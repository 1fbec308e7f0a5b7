import BatchEngine

/// The section of a configuration file that is being read.
enum SettingSection {
  /// All commands that have the option.
  case general
  case command(CommandSpec)
  case profile(ProfileDraft)

  /// - Parameter text: a line that begins with a bracket.
  init(_ text: ArraySlice<UInt8>, at place: SettingPlace, table: CommandTable) throws(UsageError) {
    guard text.last == UInt8(ascii: "]"),
      let name = String(validating: text.dropFirst().dropLast(), as: UTF8.self)
    else { throw place.error("The section \(quote(PathBytes(text))) does not end in ']'.") }
    let words = name.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
    if words.first == "profile", words.count == 2 {
      self = .profile(ProfileDraft(name: words[1], place: place))
    } else if words.count == 1, let command = table.command(named: words[0].utf8) {
      self = .command(command)
    } else {
      let known = table.commands.map(\.name) + ["profile"]
      let nearest = words.first.flatMap { Suggestion.nearest(to: Array($0.utf8), among: known) }
      let hint = nearest.map { ". Did you mean '[\($0 == "profile" ? "profile NAME" : $0)]'?" } ?? ""
      throw place.error("Unknown section \(quote(PathBytes(text)))\(hint)")
    }
  }

  /// Checks a row.
  ///
  /// - Returns: whether the section keeps it.
  mutating func take(_ row: ConfigurationFile.Row, table: CommandTable) throws(UsageError) -> Bool {
    switch self {
    case .general:
      try row.check(among: table.commands, isProfile: false)
      return false
    case .command(let command):
      try row.check(among: [command], isProfile: false)
      return false
    case .profile(var draft):
      try draft.take(row, table: table)
      self = .profile(draft)
      return true
    }
  }
}

/// A profile whose rows are being read.
struct ProfileDraft {
  let name: String
  let place: SettingPlace
  private var command: CommandSpec?
  private var rows: [ConfigurationFile.Row] = []
  private var operands: [PathBytes] = []

  init(name: String, place: SettingPlace) {
    self.name = name
    self.place = place
  }

  mutating func take(_ row: ConfigurationFile.Row, table: CommandTable) throws(UsageError) {
    switch row.key {
    case "command":
      guard let named = table.command(named: row.value.bytes) else {
        let nearest = Suggestion.nearest(to: row.value.bytes, among: table.commands.map(\.name))
        let hint = nearest.map { ". Did you mean '\($0)'?" } ?? ""
        throw row.place.error("Unknown command \(quote(row.value))\(hint)")
      }
      command = named
    case "operand": operands.append(row.value)
    default: rows.append(row)
    }
  }

  /// - Throws: when there is no command, or a row is not one of its options.
  func profile() throws(UsageError) -> ConfigurationFile.Profile {
    guard let command else { throw place.error("The profile has no 'command'.") }
    for row in rows { try row.check(among: [command], isProfile: true) }
    return .init(name: name, command: command, rows: rows, operands: operands, place: place)
  }
}

extension ConfigurationFile.Row {
  /// - Throws: when no command has the option, or all that have it refuse the value.
  fileprivate func check(among commands: [CommandSpec], isProfile: Bool) throws(UsageError) {
    let having = commands.filter { $0.settable(key) != nil }
    let command = commands.count == 1 ? commands.first : nil
    guard let first = having.first else {
      let keys = commands.flatMap(\.settableKeys) + (isProfile ? ["command", "operand"] : [])
      let hint = Suggestion.nearest(to: key.utf8, among: keys).map { ". Did you mean '\($0)'?" } ?? ""
      throw place.error("Unknown key \(quote(PathBytes(key)))\(hint)", in: command)
    }
    if !isProfile, let option = first.settable(key), !option.spec.mayHoldForEveryRun {
      throw place.error("The key '\(key)' may stand in a profile only.", in: command)
    }
    var failure: UsageError?
    for one in having {
      do throws(UsageError) {
        _ = try setting(in: one, source: .file(place))
        return
      } catch {
        failure = failure ?? error
      }
    }
    if let failure { throw failure }
  }

  /// The setting of the row for a command; nil when the command does not have the option.
  func setting(in command: CommandSpec, source: Setting.Source) throws(UsageError) -> Setting? {
    guard let option = command.settable(key) else { return nil }
    do throws(ValueSyntax.Mismatch) {
      return Setting(
        option: try option.spec.given(value, inverted: option.isInverted), text: value, source: source)
    } catch {
      throw place.error("The value \(quote(value)) is invalid for '\(key)'. \(error.sentence)", in: command)
    }
  }
}
