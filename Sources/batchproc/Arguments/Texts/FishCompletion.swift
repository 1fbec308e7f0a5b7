struct FishCompletion {
  let table: CommandTable

  var script: String {
    // The value of an option before the command is not a command, even if it has the name of one.
    var lines = [
      "# fish completion for batchproc", "function __batchproc_command",
      "  not string match -qr -- '^(\(table.valuedSpellings.joined(separator: "|")))(=|$)' (commandline -opc)",
      "  and $argv", "end",
    ]
    lines += Self.helpers
    lines += table.rootOptions.map { row(of: $0, when: "__fish_use_subcommand") }
    for command in table.commands {
      lines.append(subcommand(command.name, command.abstract))
    }
    lines.append(subcommand("help", "Show help information."))
    let names = table.commands.map(\.name).joined(separator: " ")
    lines.append(
      "complete -c batchproc -n '__batchproc_command __fish_seen_subcommand_from help' -f -a \(quoted(names))"
    )
    for command in table.commands {
      lines += command.options.map {
        row(of: $0, when: "__batchproc_command __fish_seen_subcommand_from \(command.name)")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// Print sets or ids of the directory of snapshots among the words, and names of profiles.
  private static let helpers = [
    "function __batchproc_snapshots",
    "  for word in (commandline -opc)[2..]",
    #"    set -l folder (string replace -r '^~/' "$HOME/" -- $word)"#,
    "    test -d \"$folder\"; or continue",
    "    set -l files $folder/*.manifest*",
    "    test (count $files) -gt 0; or continue",
    #"    batchproc snapshots --json -- $folder 2>/dev/null | sed -n 's/.*"'$argv[1]'":"\([^"]*\)".*/\1/p' | sort -u"#,
    "  end", "end",
    "function __batchproc_profiles",
    "  set -l folder $XDG_CONFIG_HOME; test -n \"$folder\"; or set folder $HOME/.config",
    #"  sed -n 's/^\[profile \(.*\)\]$/\1/p' /etc/batchproc.conf $folder/batchproc/config 2>/dev/null"#,
    "end",
  ]

  private func subcommand(_ name: String, _ meaning: String) -> String {
    "complete -c batchproc -n '__batchproc_command __fish_use_subcommand' -f -a \(name) -d \(quoted(meaning))"
  }

  private func row(of option: OptionSpec, when condition: String) -> String {
    var words = ["complete -c batchproc -n \(quoted(condition))"]
    words += option.short.map { "-s \($0)" }
    words += option.longForms.map { "-l \($0.text.dropFirst(2))" }
    if let syntax = option.syntax {
      words.append(option.id.completion.map { "-x -a '(_\($0))'" } ?? value(syntax))
    }
    words.append("-d \(quoted(option.help))")
    return words.joined(separator: " ")
  }

  private func value(_ syntax: ValueSyntax) -> String {
    switch syntax {
    case .file, .glob: return "-r -F"
    case .directory: return "-x -a '(__fish_complete_directories)'"
    default:
      let values = syntax.suggestedValues
      return values.isEmpty ? "-x" : "-x -a \(quoted(values.joined(separator: " ")))"
    }
  }

  private func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: #"\\"#).replacing("'", with: #"\'"#) + "'"
  }
}
