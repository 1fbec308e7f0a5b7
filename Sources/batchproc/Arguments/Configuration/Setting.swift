import BatchEngine

/// The value of an option from outside the command line.
struct Setting: Sendable {
  /// Where a value was set.
  enum Source: Sendable, Hashable {
    case file(SettingPlace)
    case variable(String)
    case profile(String, SettingPlace)

    /// The same for all settings of one file, for all variables, and for those of one profile.
    var name: PathBytes {
      switch self {
      case .file(let place): PathBytes(Array("file ".utf8) + place.file.bytes)
      case .variable: "variables"
      case .profile(let name, _): PathBytes("profile \(name)")
      }
    }

    /// Text for messages; printable.
    var text: String {
      switch self {
      case .file(let place): place.text
      case .variable(let name): name
      case .profile(let name, let place): "\(place.text) (profile \(TerminalText.string(name.utf8)))"
      }
    }
  }

  let option: ParsedCommand.GivenOption
  /// The text as written; `true` or `false` for a flag.
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
  /// - Parameter text: the text as written.
  init(option: ParsedCommand.GivenOption, text: PathBytes, source: Source) {
    self.option = option
    self.source = source
    value = if case .flag(let state) = option.value { PathBytes(String(state)) } else { text }
  }
}
