import BatchCore
import BatchEngine

/// Turns the arguments of the process into a request.
struct CommandLineParser {
  var table = CommandTable.standard
  /// Whether standard input may be meant where no path is given: a pipe, a socket or a regular file.
  var hasInput: () -> Bool = { false }
  /// Called when a command is run.
  var configuration: () throws(UsageError) -> Configuration = { .empty }
  /// The value of an environment variable; nil when it is not set.
  let environment: Environment

  /// - Parameter arguments: without the name of the program.
  func parse(_ arguments: [PathBytes]) throws(UsageError) -> Request {
    var scanner = ArgumentScanner(arguments[...], options: table.rootOptions, command: nil)
    var readsFiles = true
    while let element = try scanner.next() {
      switch element {
      case .option(let option):
        if let request = request(for: option, in: nil) { return request }
        if option.id == .generateManual {
          guard case .operand(let name)? = try scanner.next() else { return .manual(nil) }
          return .manual(try command(named: name))
        }
        if option.id == .config { readsFiles = option.value == .flag(true) }
        if option.id == .profile, case .bytes(let name) = option.value {
          let profile = try (readsFiles ? configuration() : .empty).profile(named: name)
          return try parse(scanner.rest, of: profile.command, readsFiles: readsFiles, profile)
        }
      case .operand("help"):
        return .help(try scanner.rest.first.map { topic throws(UsageError) in try command(named: topic) })
      case .operand(let name):
        let command = try command(named: name, line: [name] + scanner.rest)
        return try parse(scanner.rest, of: command, readsFiles: readsFiles)
      }
    }
    return .help(nil)
  }

  private func parse(
    _ arguments: ArraySlice<PathBytes>, of command: CommandSpec, readsFiles: Bool,
    _ profile: ConfigurationFile.Profile? = nil
  ) throws(UsageError) -> Request {
    var scanner = ArgumentScanner(arguments, options: command.options, command: command)
    var given: [ParsedCommand.GivenOption] = []
    var operands: [PathBytes] = []
    while let element = try scanner.next() {
      switch element {
      case .option(let option):
        if let request = request(for: option, in: command) { return request }
        given.append(option)
      case .operand(let path):
        operands.append(path)
      }
    }
    let words = scanner.words ?? []
    var profiles: [ConfigurationFile.Profile?] = profile.map { [$0] } ?? []
    if command.runsProfiles {
      profiles += try self.profiles(among: given, of: command, readsFiles: readsFiles)
      given.removeAll { $0.id == .profile }
    }
    guard profiles.count > 1 else {
      return .run(
        try complete(
          command, given: given, operands: operands, words: words, profile: profiles.first ?? nil,
          readsFiles: readsFiles))
    }
    return .sequence(
      try profiles.map { profile throws(UsageError) in
        (
          profile?.name ?? "",
          try complete(
            command, given: given, operands: operands, words: words, profile: profile, readsFiles: readsFiles)
        )
      })
  }

  /// The profiles named by the options of a command.
  private func profiles(
    among given: [ParsedCommand.GivenOption], of command: CommandSpec, readsFiles: Bool
  ) throws(UsageError) -> [ConfigurationFile.Profile?] {
    var profiles: [ConfigurationFile.Profile?] = []
    for option in given {
      guard option.id == .profile, case .bytes(let name) = option.value else { continue }
      let profile = try (readsFiles ? configuration() : .empty).profile(named: name)
      guard profile.command.name == command.name else {
        throw UsageError(
          "The profile \(quote(name)) is for '\(profile.command.name)', not for '\(command.name)'.",
          in: command)
      }
      profiles.append(profile)
    }
    return profiles
  }

  /// Adds options of configuration and environment, and checks the result.
  private func complete(
    _ command: CommandSpec, given: [ParsedCommand.GivenOption], operands: [PathBytes], words: [PathBytes],
    profile: ConfigurationFile.Profile?, readsFiles: Bool
  ) throws(UsageError) -> ParsedCommand {
    var (given, operands) = (given, operands)
    let isPlanned = given.contains { $0.id == .plan }
    // Options that a plan fixes are not taken from elsewhere.
    let named = Set(given.map(\.id)).union(
      isPlanned ? command.options.filter { !$0.planUse.contains(.chosenByShard) }.map(\.id) : [])
    // Read only now: help is shown even if the files are invalid.
    let settings = try (readsFiles ? configuration() : .empty)
      .settings(for: command, profile: profile, environment: environment) { named.contains($0) }
    given = settings.map(\.option) + given
    if operands.isEmpty, let profile { operands = profile.operands }
    if let archive = given.last(where: { $0.id == .archiveFile }), case .bytes(let path) = archive.value {
      operands.insert(path, at: 0)
    }
    let readsLists = given.contains { command.operandOptions.contains($0.id) }
    if operands.isEmpty, !readsLists, !isPlanned, command.operands.first?.takesInput == true, hasInput() {
      operands = ["-"]
    }
    var starts: Set<Int> = [settings.count]
    for index in settings.indices.dropFirst()
    where settings[index].source.name != settings[index - 1].source.name { starts.insert(index) }
    let parsed = ParsedCommand(
      command: command, given: given, operands: operands, sourceStarts: starts, words: words)
    try checkOperands(of: parsed)
    return parsed
  }

  private func checkOperands(of parsed: ParsedCommand) throws(UsageError) {
    let declared = parsed.command.operands.filter { !$0.isAfterDashes }
    let readsLists = parsed.given.contains { parsed.command.operandOptions.contains($0.id) }
    let required = declared.count { !$0.isOptional }
    if parsed.given.contains(where: { $0.id == .plan }) {
      guard let surplus = parsed.operands.first ?? parsed.words.first else { return }
      throw UsageError(
        "The plan determines what to process: \(quote(surplus)) is not allowed with it.", in: parsed.command)
    }
    if parsed.operands.count < required, !readsLists {
      let missing = declared[parsed.operands.count].label
      throw UsageError(
        "Missing expected argument '\(missing)'", in: parsed.command,
        correction: parsed.given.isEmpty && parsed.operands.isEmpty
          ? parsed.command.examples.first.map { .example($0.command) } : nil)
    }
    if parsed.command.takesWords, parsed.words.isEmpty {
      let missing = parsed.command.operands.last?.label ?? ""
      throw UsageError(
        "Missing expected argument '\(missing)'", in: parsed.command,
        correction: parsed.operands.count > 1 && !parsed.operands[0].bytes.contains(UInt8(ascii: "{"))
          ? .dashes(among: parsed.operands) : parsed.command.examples.first.map { .example($0.command) })
    }
    if declared.last?.repeats != true, parsed.operands.count > declared.count {
      let surplus = quote(parsed.operands[declared.count])
      throw UsageError("Unexpected argument \(surplus)", in: parsed.command)
    }
  }

  private func request(for option: ParsedCommand.GivenOption, in command: CommandSpec?) -> Request? {
    switch (option.id, option.value) {
    case (.help, _): .help(command)
    case (.version, _): .version
    case (.dumpHelp, _): .dumpHelp
    case (.generateCompletionScript, .choice(let name)): Shell(rawValue: name).map(Request.completions)
    default: nil
    }
  }

  private func isValid(_ line: [PathBytes]) -> Bool {
    if case .run? = try? CommandLineParser(environment: { _ in nil }).parse(line) { true } else { false }
  }

  /// - Parameter line: the words from the command on; empty if the command is not to be run.
  private func command(named name: PathBytes, line: [PathBytes] = []) throws(UsageError) -> CommandSpec {
    if let command = table.command(named: name.bytes) { return command }
    if let answer = ForeignOption.command(for: name.bytes) {
      let translation = ForeignLine.translation(of: line).flatMap { isValid($0) ? $0 : nil }
      let isAnswered = translation?.first.map { answer.contains("batchproc \($0)") } ?? true
      throw UsageError(
        "\(quote(name)) is not a command\(isAnswered ? ": \(answer)" : "").", in: nil,
        correction: translation.map { .words($0) })
    }
    let suggestion = Suggestion.nearest(to: name.bytes, among: table.commands.map(\.name))
    let hint = suggestion.map { ". Did you mean '\($0)'?" } ?? ""
    throw UsageError(
      "Unknown command \(quote(name))\(hint)", in: nil,
      correction: suggestion.map { .replace(name.bytes, by: $0) })
  }
}
