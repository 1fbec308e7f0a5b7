import BatchEngine

/// An invalid command line or configuration.
struct UsageError: Error {
  /// A sentence without control bytes.
  let message: String
  /// The command whose usage is shown; nil before a command is known.
  let command: CommandSpec?
  let correction: Correction?
  /// The exit status: not that of usage if the command line itself is correct.
  var status = ExitStatus.usage

  init(_ message: String, in command: CommandSpec?, correction: Correction? = nil) {
    self.message = message
    self.command = command
    self.correction = correction
  }

  /// The message, in the form for after a colon.
  private var sentence: String {
    // Names of variables and options are not changed.
    guard let first = message.first, message.dropFirst().first?.isLowercase == true else { return message }
    return first.lowercased() + message.dropFirst()
  }

  /// Message, the corrected line, usage and pointer to the help, for standard error; ends in a newline.
  func text(_ arguments: [PathBytes]) -> String {
    guard status == .usage else { return "batchproc: \(sentence)\n" }
    let line = correction?.line(of: arguments).map { "\nTry: \($0)" } ?? ""
    return """
      batchproc: \(sentence)\(line)
      Usage: \(command?.usage ?? CommandTable.standard.usage)
        See 'batchproc \(command.map { "\($0.name) " } ?? "")--help' for more information.

      """
  }
}
