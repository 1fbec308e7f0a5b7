/// The request on a command line.
enum Request: Sendable {
  case run(ParsedCommand)
  /// Several profiles of `backup`, one after the other.
  case sequence([(profile: String, command: ParsedCommand)])
  /// Help about a command, or about all when nil.
  case help(CommandSpec?)
  case version
  /// The manual page of a command, or of all when nil.
  case manual(CommandSpec?)
  case completions(Shell)
  /// All commands and options as JSON.
  case dumpHelp
}
