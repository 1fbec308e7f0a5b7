import BatchCore
import BatchEngine
import func Glibc.exit
import var Glibc.SIGPIPE
import var Glibc.STDERR_FILENO

/// The command line from its arguments to the end of the process.
enum CLI {
  static func main() -> Never {
    let arguments = ProcessArguments.current()
    if arguments.first == ForeignReaderProgram.command {
      exit(ForeignReaderProgram.run(Array(arguments.dropFirst())) ? 0 : ExitStatus.usage.rawValue)
    }
    StandardStreams.secure()
    SignalSources.ignoreFailedWrites()
    switch run(arguments, environment: ProcessArguments.environment) {
    case .exit(let status): exit(status.rawValue)
    case .signal(let number):
      SignalSources.reraise(number)
      // Reached only if the signal is permanently blocked.
      exit(128 + number)
    }
  }

  /// - Parameter arguments: without the name of the program.
  static func run(_ arguments: [PathBytes], environment: @escaping Environment) -> Ending {
    let diagnostics = Diagnostics(
      descriptor: STDERR_FILENO, usesColor: false,
      usesPriorities: StandardStreams.isJournal(environment("JOURNAL_STREAM")))
    return ending(arguments, diagnostics) {
      let request = try CommandLineParser(
        hasInput: { StandardStreams.hasInput },
        configuration: { () throws(UsageError) in try Configuration.read(environment: environment) },
        environment: environment
      ).parse(arguments)
      return try dispatch(request, arguments: arguments, environment: environment, diagnostics: diagnostics)
    }
  }

  /// Runs profiles one after the other; a failure does not prevent the next one, but a signal does.
  private static func dispatch(
    _ runs: [(profile: String, command: ParsedCommand)], arguments: [PathBytes],
    environment: @escaping Environment, diagnostics: Diagnostics
  ) -> Ending {
    var worst = ExitStatus.success
    for (profile, command) in runs {
      let ending = ending(arguments, diagnostics) {
        try dispatch(.run(command), arguments: arguments, environment: environment, diagnostics: diagnostics)
      }
      guard case .exit(let status) = ending else { return ending }
      guard status != .success else { continue }
      diagnostics.report("the profile \(quote(PathBytes(profile))) ended with \(status.rawValue)")
      if worst == .success || ending.isWorse(than: worst) { worst = status }
    }
    return .exit(worst)
  }

  /// Runs a command, reports its errors, and returns how it ends.
  private static func ending(
    _ arguments: [PathBytes], _ diagnostics: Diagnostics, of body: () throws -> Ending
  ) -> Ending {
    do {
      return try body()
    } catch let error as UsageError {
      diagnostics.print(error.text(arguments))
      return .exit(error.status)
    } catch let error as BatchError {
      if error.code == .closedOutput { return .signal(SIGPIPE) }
      diagnostics.report(error)
      return .exit(ExitStatus(error))
    } catch {
      diagnostics.report("\(error)")
      return .exit(.fatal)
    }
  }

  private static func dispatch(
    _ request: Request, arguments: [PathBytes], environment: @escaping Environment,
    diagnostics: Diagnostics
  ) throws -> Ending {
    let help = HelpText(table: .standard)
    switch request {
    case .run(let parsed):
      do {
        return try run(parsed, environment)
      } catch let error as BatchError where parsed.flag(.json) && error.code != .closedOutput {
        return end(JSONReporter.onStandardOutput(), error)
      }
    case .help(let command): return try show(command.map { help.text(of: $0) } ?? help.overview)
    case .version: return try show(Version.text)
    case .manual(let command):
      let manual = ManPage(table: .standard, version: Version.number, date: Version.date)
      return try show(command.map(manual.roff(of:)) ?? manual.roff)
    case .completions(let shell): return try show(shell.completionScript(for: .standard))
    case .dumpHelp: return try show(String(decoding: ToolInfo(table: .standard).json, as: UTF8.self))
    case .sequence(let runs):
      return dispatch(runs, arguments: arguments, environment: environment, diagnostics: diagnostics)
    }
  }

  private static func run(
    _ parsed: ParsedCommand, _ environment: @escaping Environment
  ) throws -> Ending {
    try ThreadFiles.require()
    if parsed.given.contains(where: { $0.id == .plan || $0.id == .shard }) {
      return try ShardCommand.run(parsed, kinds: \.kind, environment)
    }
    return try parsed.command.entry(in: \.kind).run(parsed, environment)
  }

  /// Reports an error that ended a run before the command could report anything.
  private static func end(_ events: JSONReporter, _ error: BatchError) -> Ending {
    events.fatal(error)
    events.end(Counters.Snapshot())
    return .exit(ExitStatus(error))
  }

  private static func show(_ text: String) throws -> Ending {
    let output = StandardOutput(cancellation: Cancellation())
    try output.write(Array(text.utf8) + (text.hasSuffix("\n") ? [] : [UInt8(ascii: "\n")]))
    try output.finish()
    return .exit(.success)
  }
}
