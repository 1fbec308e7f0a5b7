import BatchEngine

extension CommandSpec {
  var settableOptions: [OptionSpec] {
    readsConfiguration ? options.filter { ![.help, .version, .profile].contains($0.id) } : []
  }

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
  /// The environment variable that sets the option if it is not given.
  var variable: String {
    environment ?? "BATCHPROC_" + long[0].uppercased().map { $0 == "-" ? "_" : $0 }
  }

  /// Whether a file or variable may set it for every run; options that remove or replace files can only be set by a profile.
  var mayHoldForEveryRun: Bool { ![.force, .removeSource, .initialize, .plain].contains(id) }

  /// The option for a value from outside the command line.
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
