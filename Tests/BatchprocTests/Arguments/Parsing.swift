import BatchCore
import BatchEngine

@testable import batchproc

/// What the command line stands for, with an environment of its own.
func request(_ arguments: [PathBytes], environment: [String: PathBytes] = [:]) throws(UsageError) -> Request {
  try CommandLineParser { environment[$0] }.parse(arguments)
}

/// The command of a line that runs one.
func parsed(_ arguments: PathBytes..., environment: [String: PathBytes] = [:]) throws -> ParsedCommand {
  try parsed(arguments, environment: environment)
}

func parsed(_ arguments: [PathBytes], environment: [String: PathBytes] = [:]) throws -> ParsedCommand {
  guard case .run(let command) = try request(arguments, environment: environment) else {
    throw BatchError(.invalid, "the line runs no command")
  }
  return command
}

/// The message that a wrong command line gets; nil when the line is right.
func refusal(_ arguments: PathBytes..., environment: [String: PathBytes] = [:]) -> String? {
  refusal(arguments, environment: environment)
}

func refusal(_ arguments: [PathBytes], environment: [String: PathBytes] = [:]) -> String? {
  do throws(UsageError) {
    _ = try request(arguments, environment: environment)
    return nil
  } catch {
    return error.message
  }
}

func paths(_ texts: [String]) -> [PathBytes] { texts.map { PathBytes($0) } }
