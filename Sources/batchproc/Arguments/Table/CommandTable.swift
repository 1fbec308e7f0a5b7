/// All commands, and the options without a command.
struct CommandTable: Sendable {
  let abstract: String
  /// The commands in the order of the help.
  let ids: [CommandID]
  /// Options before a command.
  let rootOptions: [OptionSpec]
  /// Describes a command. A start needs one description; all of them would take an eighth of its time.
  let describe: @Sendable (CommandID) -> CommandSpec

  var commands: [CommandSpec] { ids.map(describe) }
  /// The spellings of those that take a value.
  var valuedSpellings: [String] { rootOptions.filter { $0.syntax != nil }.flatMap(\.spellings) }

  static let standard = CommandTable(
    abstract: "Hash, compress, archive and back up directory trees, on all cores.",
    ids: CommandID.allCases,
    rootOptions: [
      .profile,
      OptionSpec(
        .config, "config", kind: .invertible(initially: true), default: "--config",
        help: "Read the configuration files; see 'batchproc help config'."),
      OptionSpec(
        .generateCompletionScript, "generate-completion-script",
        kind: .single(.choice(Shell.allCases.map(\.rawValue))), value: "shell",
        help: "Print a completion script for a shell."),
      OptionSpec(
        .generateManual, "experimental-generate-man",
        help: "Print the manual page as roff, or that of a command."),
      OptionSpec(
        .dumpHelp, "experimental-dump-help",
        help: "Print all commands and options as JSON, in the tool information format, version 0."),
    ] + CommandSpec.Group.general.options
  ) { $0.spec }

  func command(named name: some Sequence<UInt8>) -> CommandSpec? {
    let name = Array(name)
    return ids.first { $0.rawValue.utf8.elementsEqual(name) }.map(describe)
  }

  var usage: String { "batchproc <subcommand>" }
}
