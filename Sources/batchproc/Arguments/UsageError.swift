import BatchEngine

/// A command line or configuration that cannot be obeyed.
struct UsageError: Error {
  /// A sentence without control bytes.
  let message: String
  /// The command whose usage helps; nil before a command is known.
  let command: CommandSpec?
  /// How the line is made right, where that is known.
  let correction: Correction?
  /// What the process ends with: another one when what is wrong is not what was written.
  var status = ExitStatus.usage

  init(_ message: String, in command: CommandSpec?, correction: Correction? = nil) {
    self.message = message
    self.command = command
    self.correction = correction
  }

  /// The message as what follows a colon.
  private var sentence: String {
    // Names of variables and options stay as they are.
    guard let first = message.first, message.dropFirst().first?.isLowercase == true else { return message }
    return first.lowercased() + message.dropFirst()
  }

  /// Message, the corrected line, usage and pointer to the help, for standard error; ends in a newline.
  ///
  /// - Parameter arguments: of the process.
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
