/// What the command line asks for.
enum Request: Sendable {
  case run(ParsedCommand)
  /// Help about a command, or about all when nil.
  case help(CommandSpec?)
  case version
  case manual
  case completions(Shell)
  /// All commands and options as JSON.
  case dumpHelp
}
