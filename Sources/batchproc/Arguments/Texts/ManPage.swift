/// The manual pages as roff (man(7)): one for everything, and one for each command.
struct ManPage {
  let table: CommandTable
  /// Such as `1.2.0`.
  let version: String
  /// The date of that version, as `2026-11-22`.
  let date: String

  /// batchproc(1).
  var roff: String {
    var lines = [
      title("batchproc"),
      ".SH NAME", #"batchproc \- hash, compress, archive and back up directory trees"#,
      ".SH SYNOPSIS",
    ]
    for command in table.commands {
      lines += [synopsis(of: command), ".br"]
    }
    lines += [#"\fBbatchproc help\fR [\fIcommand\fR]"#]
    lines += [".SH DESCRIPTION", escaped(table.abstract)]
    lines += [".SH OPTIONS"] + table.rootOptions.flatMap(option)
    lines += [".SH COMMANDS"] + table.commands.flatMap(section)
    for group in sharedGroups {
      lines += [".SH \(group.title) OPTIONS"] + group.options.flatMap(option)
    }
    lines += [".SH ENVIRONMENT"] + environment.flatMap { item($0.name, $0.meaning) }
    lines += [".SH FILES"] + ManPage.files.flatMap { item($0.name, $0.meaning) }
    lines += [".SH SIGNALS"] + ManPage.signals.flatMap { item($0.name, $0.meaning) }
    lines += exitStatus + examples(table.commands.flatMap(\.examples))
    lines += [".SH SEE ALSO", references(table.commands.map { "batchproc-\($0.name)" })]
    return lines.joined(separator: "\n") + "\n"
  }

  /// batchproc-hash(1) and so on.
  func roff(of command: CommandSpec) -> String {
    let name = "batchproc-\(command.name)"
    var lines = [
      title(name), ".SH NAME", #"\#(escaped(name)) \- \#(escaped(summary(of: command)))"#,
      ".SH SYNOPSIS", synopsis(of: command), ".SH DESCRIPTION", escaped(command.abstract),
    ]
    for paragraph in command.discussion { lines += [".PP", escaped(paragraph)] }
    lines += [".SH ARGUMENTS"]
    for operand in command.operands {
      lines += [".TP", #"\fI\#(escaped(operand.name))\fR"#, escaped(operand.help)]
    }
    for group in command.groups { lines += [".SH \(group.title)"] + group.options.flatMap(option) }
    lines += [
      ".SH ENVIRONMENT", escaped("Options may stand in variables and files too; see batchproc-config(1)."),
    ]
    lines += exitStatus + examples(command.examples)
    return (lines + [".SH SEE ALSO", references(["batchproc", "batchproc-config"])]).joined(separator: "\n")
      + "\n"
  }

  private func title(_ name: String) -> String {
    #".TH \#(escaped(name.uppercased())) 1 "\#(date)" "batchproc \#(escaped(version))" "User Commands""#
  }

  private func references(_ names: [String]) -> String {
    names.map { #"\fB\#(escaped($0))\fR(1)"# }.joined(separator: ",\n")
  }

  /// The abstract in the style of apropos(1): no initial capital, no full stop.
  private func summary(of command: CommandSpec) -> String {
    command.abstract.prefix(1).lowercased() + command.abstract.dropFirst().dropLast()
  }

  private var exitStatus: [String] {
    [".SH EXIT STATUS"] + ExitStatus.allCases.flatMap { item(String($0.rawValue), $0.meaning) }
  }

  private func examples(_ examples: [CommandSpec.Example]) -> [String] {
    guard !examples.isEmpty else { return [] }
    let blocks = examples.map { example in
      [escaped(example.meaning), ".PP", ".nf", ".RS", escaped(example.command), ".RE", ".fi"]
    }
    return [".SH EXAMPLES"] + blocks.joined(separator: [".PP"])
  }

  private static let files: [(name: String, meaning: String)] = [
    ("/etc/batchproc.conf", "The configuration of all users; see batchproc-config(1)."),
    ("~/.config/batchproc/config", "The configuration of a user, or where XDG_CONFIG_HOME says."),
  ]

  /// Groups that several commands share, each once, with all options that any of them has there.
  private var sharedGroups: [CommandSpec.Group] {
    table.commands.flatMap(\.shared).reduce(into: []) { groups, group in
      guard group.title != CommandSpec.Group.general.title else { return }
      guard let index = groups.firstIndex(where: { $0.title == group.title }) else {
        groups.append(group)
        return
      }
      let known = Set(groups[index].options.map(\.id))
      let more = group.options.filter { !known.contains($0.id) }
      groups[index] = CommandSpec.Group(title: group.title, options: groups[index].options + more)
    }
  }

  private var environment: [(name: String, meaning: String)] {
    let options = table.commands.flatMap(\.options).reduce(into: [(name: String, meaning: String)]()) {
      variables, option in
      guard let name = option.environment, !variables.contains(where: { $0.name == name }) else { return }
      variables.append((name, "Value of --\(option.long[0]) where that option is absent."))
    }
    return options + [
      ("BATCHPROC_*", "Values of other options in the same way; see batchproc-config(1)."),
      ("NO_COLOR", "When not empty, messages have no color unless --color always is given."),
      ("TERM", "When dumb or not set, there is neither color nor a progress bar by default."),
    ]
  }

  private static let signals: [(name: String, meaning: String)] = [
    (
      "INT, TERM, HUP",
      "The first one stops admitting work, removes temporary files and ends the process; a second one aborts at once."
    ),
    ("USR1", "Prints the state of the run and the files in progress, the oldest first, on standard error."),
  ]

  private func synopsis(of command: CommandSpec) -> String {
    let operands = command.operands.map { operand in
      let label = #"\fI\#(escaped(operand.name))\fR"# + (operand.repeats ? " ..." : "")
      return operand.isOptional ? "[\(label)]" : label
    }
    return ([#"\fBbatchproc \#(escaped(command.name))\fR"#, #"[\fIoptions\fR]"#] + operands)
      .joined(separator: " ")
  }

  private func section(of command: CommandSpec) -> [String] {
    var lines = [".SS \(escaped(command.name))", escaped(command.abstract)]
    for paragraph in command.discussion { lines += [".PP", escaped(paragraph)] }
    for operand in command.operands {
      lines += [".TP", #"\fI\#(escaped(operand.name))\fR"#, escaped(operand.help)]
    }
    return lines + command.own.flatMap(option)
  }

  private func option(_ option: OptionSpec) -> [String] {
    var label = option.spellings.map { #"\fB\#(escaped($0))\fR"# }.joined(separator: ", ")
    if let value = option.valueName { label += #" \fI\#(escaped(value))\fR"# }
    return [".TP", label, escaped(option.fullHelp)]
  }

  private func item(_ name: String, _ meaning: String) -> [String] {
    [".TP", #"\fB\#(escaped(name))\fR"#, escaped(meaning)]
  }

  private func escaped(_ text: String) -> String {
    let plain = text.map { character in
      switch character {
      case "\\": #"\e"#
      case "-": #"\-"#
      case "'": #"\(aq"#
      default: String(character)
      }
    }.joined()
    return plain.hasPrefix(".") ? #"\&"# + plain : plain
  }
}
