import BatchCore
import BatchEngine

@testable import batchproc

/// The request of a command line, with the given environment only.
func request(_ arguments: [PathBytes], environment: [String: PathBytes] = [:]) throws(UsageError) -> Request {
  try CommandLineParser { environment[$0] }.parse(arguments)
}

/// The command of a command line that runs one.
func parsed(_ arguments: PathBytes..., environment: [String: PathBytes] = [:]) throws -> ParsedCommand {
  try parsed(arguments, environment: environment)
}

func parsed(_ arguments: [PathBytes], environment: [String: PathBytes] = [:]) throws -> ParsedCommand {
  guard case .run(let command) = try request(arguments, environment: environment) else {
    throw BatchError(.invalid, "the line runs no command")
  }
  return command
}

/// The error message for a wrong command line; nil for a correct one.
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
