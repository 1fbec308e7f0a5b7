import BatchEngine

/// The value of an option that stands somewhere else than on the command line.
struct Setting: Sendable {
  /// Where a value stands.
  enum Source: Sendable, Hashable {
    case file(SettingPlace)
    /// An environment variable.
    case variable(String)
    case profile(String, SettingPlace)

    /// For people; printable.
    var text: String {
      switch self {
      case .file(let place): place.text
      case .variable(let name): name
      case .profile(let name, let place): "\(place.text) (profile \(TerminalText.string(name.utf8)))"
      }
    }
  }

  let option: ParsedCommand.GivenOption
  /// As it was written; `true` or `false` of a flag.
  let value: PathBytes
  let source: Source
}

/// A line of a configuration file.
struct SettingPlace: Sendable, Hashable {
  let file: PathBytes
  /// From 1.
  let line: Int

  /// `FILE:LINE`, printable.
  var text: String { "\(TerminalText.string(file.bytes)):\(line)" }
}

extension Setting {
  /// - Parameter text: as it was written.
  init(option: ParsedCommand.GivenOption, text: PathBytes, source: Source) {
    self.option = option
    self.source = source
    value = if case .flag(let state) = option.value { PathBytes(String(state)) } else { text }
  }
}
