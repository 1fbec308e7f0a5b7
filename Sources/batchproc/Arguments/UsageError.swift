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

  /// The message as what follows a colon.
  private var sentence: String {
    // Names of variables and options stay as they are.
    guard let first = message.first, message.dropFirst().first?.isLowercase == true else { return message }
    return first.lowercased() + message.dropFirst()
  }

  /// Message, usage and pointer to the help, for standard error; ends in a newline.
  var text: String {
    """
    batchproc: \(sentence)
    Usage: \(command?.usage ?? CommandTable.standard.usage)
      See 'batchproc \(command.map { "\($0.name) " } ?? "")--help' for more information.

    """
  }
}
