import BatchEngine

/// The rows of one configuration file, with valid keys and with values in the syntax of their options.
///
/// `key = value`, one on a line. Rows before the first section are for all commands that have the option, `[COMMAND]` begins
/// the rows of one command, and `[profile NAME]` those of a profile.
struct ConfigurationFile: Sendable {
  struct Row: Sendable {
    let key: String
    let value: PathBytes
    let place: SettingPlace
  }

  /// A command with its options and operands.
  struct Profile: Sendable {
    let name: String
    let command: CommandSpec
    let rows: [Row]
    let operands: [PathBytes]
    let place: SettingPlace
  }

  private(set) var general: [Row] = []
  private(set) var commands: [String: [Row]] = [:]
  private(set) var profiles: [Profile] = []

  init(_ content: [UInt8], at path: PathBytes, table: CommandTable = .standard) throws(UsageError) {
    var section = SettingSection.general
    for (index, line) in content.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
      .enumerated()
    {
      let place = SettingPlace(file: path, line: index + 1)
      let text = Self.trimmed(line)
      guard let first = text.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
      guard !text.contains(0) else { throw place.error("A line with a NUL byte.") }
      if first == UInt8(ascii: "[") {
        try close(section)
        section = try SettingSection(text, at: place, table: table)
        if case .profile(let draft) = section, profiles.contains(where: { $0.name == draft.name }) {
          throw place.error("The profile \(quote(PathBytes(draft.name))) is there already.")
        }
      } else {
        let row = try Self.row(text, at: place)
        if try section.take(row, table: table) { continue }
        switch section {
        case .command(let command): commands[command.name, default: []].append(row)
        default: general.append(row)
        }
      }
    }
    try close(section)
  }

  private mutating func close(_ section: SettingSection) throws(UsageError) {
    if case .profile(let draft) = section { profiles.append(try draft.profile()) }
  }

  private static func row(_ text: ArraySlice<UInt8>, at place: SettingPlace) throws(UsageError) -> Row {
    let name = trimmed(text.prefix { $0 != UInt8(ascii: "=") })
    guard let key = String(validating: name, as: UTF8.self), !key.isEmpty else {
      throw place.error("Expected 'key = value' or '[section]' in place of \(quote(PathBytes(text))).")
    }
    guard let sign = text.firstIndex(of: UInt8(ascii: "=")) else {
      return Row(key: key, value: "true", place: place)
    }
    var value = trimmed(text[(sign + 1)...])
    let mark = UInt8(ascii: "\"")
    if value.count >= 2, value.first == mark, value.last == mark { value = value.dropFirst().dropLast() }
    return Row(key: key, value: PathBytes(value), place: place)
  }

  private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0d }
    var text = text.drop(while: isBlank)
    while let last = text.last, isBlank(last) { text.removeLast() }
    return text
  }
}

extension SettingPlace {
  /// An error with its place in the file before it.
  func error(_ message: String, in command: CommandSpec? = nil) -> UsageError {
    UsageError("\(text): \(message)", in: command)
  }
}
