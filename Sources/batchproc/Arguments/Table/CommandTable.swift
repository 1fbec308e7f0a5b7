/// All commands, and the options without a command.
struct CommandTable: Sendable {
  let abstract: String
  let commands: [CommandSpec]
  /// Options before a command.
  let rootOptions: [OptionSpec]
  /// The spellings of those that take a value.
  var valuedSpellings: [String] { rootOptions.filter { $0.syntax != nil }.flatMap(\.spellings) }

  static let standard = CommandTable(
    abstract: "Hash, compress, archive and back up directory trees, on all cores.",
    commands: [
      .hash, .check, .compress, .decompress, .cat, .test, .archive, .list, .extract, .verify, .audit,
      .duplicates, .backup,
      .snapshots, .restore, .prune, .drill, .copy, .report, .schedule, .keygen, .plan, .merge, .submit,
      .status, .tune, .doctor, .config,
    ],
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
  )

  func command(named name: some Sequence<UInt8>) -> CommandSpec? {
    let name = Array(name)
    return commands.first { $0.name.utf8.elementsEqual(name) }
  }

  var usage: String { "batchproc <subcommand>" }
}
