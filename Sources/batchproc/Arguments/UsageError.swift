/// A command line that cannot be obeyed; the process ends with ``ExitStatus/usage``.
struct UsageError: Error {
  /// A sentence without control bytes.
  let message: String
  /// The command whose usage helps; nil before a command is known.
  let command: CommandSpec?

  init(_ message: String, in command: CommandSpec?) {
    self.message = message
    self.command = command
  }

  /// Message, usage and pointer to the help, for standard error; ends in a newline.
  var text: String {
    """
    Error: \(message)
    Usage: \(command?.usage ?? CommandTable.standard.usage)
      See 'batchproc \(command.map { "\($0.name) " } ?? "")--help' for more information.

    """
  }
}
