import BatchEngine

extension CommandSpec {
  /// The options that a configuration can give.
  var settableOptions: [OptionSpec] {
    // What is scheduled is the command line alone.
    id == .schedule ? [] : options.filter { ![.help, .version, .profile].contains($0.id) }
  }

  /// Their long names.
  var settableKeys: [String] { settableOptions.flatMap(\.longForms).map { String($0.text.dropFirst(2)) } }

  /// The option of a long name without dashes, and whether that name inverts it, as `no-fsync` does.
  func settable(_ key: String) -> (spec: OptionSpec, isInverted: Bool)? {
    for option in settableOptions {
      if let form = option.longForms.first(where: { $0.text.dropFirst(2) == key }) {
        return (option, !form.state)
      }
    }
    return nil
  }
}

extension OptionSpec {
  /// The environment variable that stands for the option where it is not given.
  var variable: String {
    environment ?? "BATCHPROC_" + long[0].uppercased().replacing("-", with: "_")
  }

  /// Whether a file or variable may give it to every run; what removes or replaces files only by a profile.
  var mayHoldForEveryRun: Bool { id != .force && id != .removeSource && id != .initialize }

  /// What a value that stands elsewhere than on the command line means.
  func given(
    _ value: PathBytes, inverted: Bool = false
  ) throws(ValueSyntax.Mismatch) -> ParsedCommand.GivenOption {
    if let syntax { return .init(id: id, value: try syntax.parse(value)) }
    switch value {
    case "true", "yes", "on", "1": return .init(id: id, value: .flag(!inverted))
    case "false", "no", "off", "0": return .init(id: id, value: .flag(inverted))
    default: throw ValueSyntax.Mismatch(sentence: "Please provide 'true' or 'false'.")
    }
  }
}
