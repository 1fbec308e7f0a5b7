import BatchEngine

/// How a command is made and run.
struct CommandKind {
  let run: (ParsedCommand, @escaping Environment) throws -> Ending
  /// Nil if no plan can divide the command.
  var divided: (any DividedCommand.Type)?
  /// Whether its lanes share one heap, since blocks of a file move between them. Commands that only read make small allocations,
  /// which would wait for each other.
  var sharesHeap = true

  /// A command that processes files.
  init(
    sharesHeap: Bool = true,
    _ make: @escaping (ParsedCommand, CommonOptions, @escaping Environment) throws -> any Command
  ) {
    self.sharesHeap = sharesHeap
    run = { (parsed, environment) in
      let common = try CommonOptions(parsed)
      if sharesHeap { ProcessHeap.share() }
      let command = try make(parsed, common, environment)
      if common.verbose {
        for note in parsed.deprecations { command.session.diagnostics.report(note, as: .note) }
      }
      return command.execute()
    }
  }

  init<Divided: DividedCommand>(_ type: Divided.Type, sharesHeap: Bool = true) {
    self.init(sharesHeap: sharesHeap) { try Divided($0, common: $1, environment: $2) }
    divided = type
  }

  /// A command without a run over files.
  init(running run: @escaping (ParsedCommand, @escaping Environment) throws -> Ending) {
    self.run = run
  }
}

extension CommandKind {
  /// The same kind with another command for some options.
  func replaced(
    by isOther: @escaping (ParsedCommand) -> Bool,
    _ make: @escaping (ParsedCommand, CommonOptions, @escaping Environment) throws -> any Command
  ) -> CommandKind {
    let other = CommandKind(sharesHeap: sharesHeap, make)
    let run = run
    var kind = CommandKind(running: { try isOther($0) ? other.run($0, $1) : run($0, $1) })
    (kind.divided, kind.sharesHeap) = (divided, sharesHeap)
    return kind
  }
}

/// How each command is made, for commands that run others.
typealias CommandKinds = (CommandID) -> CommandKind
