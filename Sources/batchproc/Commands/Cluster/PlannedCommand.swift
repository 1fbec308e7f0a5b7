import BatchCore
import BatchEngine

/// The command that a plan divides, as stored in the plan and as run by a shard.
struct PlannedCommand {
  let parsed: ParsedCommand
  let kind: CommandKind
  let command: any DividedCommand.Type

  /// Reads a command to be planned, with the options from configuration and environment.
  ///
  /// - Parameter words: the name of the command, then its arguments.
  init(
    _ words: [PathBytes], _ kinds: CommandKinds, in outer: CommandSpec, environment: @escaping Environment
  ) throws(UsageError) {
    let alone = try Self.parse(words, kinds: kinds, in: outer, by: CommandLineParser { _ in nil }).parsed
    let full: ParsedCommand
    (full, kind, command) = try Self.parse(
      words, kinds: kinds, in: outer,
      by: CommandLineParser(
        configuration: { () throws(UsageError) in try Configuration.read(environment: environment) },
        environment: environment))
    // Options about this machine do not apply to others, and some do not apply to plans.
    let named = Set(alone.given.map(\.id))
    let given = full.given.filter { named.contains($0.id) || Self.use(of: $0.id, full.command).isEmpty }
    for option in alone.given where Self.use(of: option.id, full.command).contains(.refused) {
      throw UsageError(
        "A plan cannot be made with \(Self.spelling(option.id, full.command)).", in: outer)
    }
    guard !full.operands.contains("-") else {
      throw UsageError("Standard input cannot be divided.", in: outer)
    }
    parsed = ParsedCommand(
      command: full.command, given: given, operands: full.operands, words: full.words)
  }

  init(_ plan: ShardPlan, _ kinds: CommandKinds, in outer: CommandSpec) throws(UsageError) {
    let words = [PathBytes(plan.command)] + plan.arguments
    (parsed, kind, command) = try Self.parse(
      words, kinds: kinds, in: outer, by: CommandLineParser { _ in nil })
  }

  private static func parse(
    _ words: [PathBytes], kinds: CommandKinds, in outer: CommandSpec, by parser: CommandLineParser
  ) throws(UsageError) -> (parsed: ParsedCommand, kind: CommandKind, command: any DividedCommand.Type) {
    let request: Request
    do throws(UsageError) {
      request = try parser.parse(words)
    } catch {
      // An example of the command alone makes no plan.
      guard error.correction?.isExample == true else { throw error }
      throw UsageError(error.message, in: error.command)
    }
    guard case .run(let parsed) = request else {
      throw UsageError("Missing the command that is to be divided.", in: outer)
    }
    let kind = parsed.command.entry(in: kinds)
    guard let command = kind.divided else {
      let names = CommandID.allCases.filter { kinds($0).divided != nil }
        .map { "'\($0.rawValue)'" }.joined(separator: ", ")
      throw UsageError("'\(parsed.command.name)' cannot be divided: only \(names) can.", in: outer)
    }
    return (parsed, kind, command)
  }

  /// Refuses several paths: sources of several operands may have one output, which a single shard cannot detect.
  func requireOnePath(in outer: CommandSpec) throws(UsageError) {
    guard parsed.operands.count == 1,
      !parsed.given.contains(where: { [.filesFrom, .files0From].contains($0.id) })
    else {
      throw UsageError("A plan of '\(parsed.command.name)' takes one path.", in: outer)
    }
  }

  /// Whether each run of a shard may choose an option.
  func mayChoose(_ id: OptionID) -> Bool { Self.use(of: id, parsed.command).contains(.chosenByShard) }

  private static func use(of id: OptionID, _ command: CommandSpec) -> OptionSpec.PlanUse {
    command.options.first { $0.id == id }?.planUse ?? []
  }

  /// The arguments that a plan stores.
  ///
  /// - Parameters:
  ///   - added: options in addition to the given ones.
  ///   - removed: options that the folder of the plan replaces.
  func arguments(
    adding added: [ParsedCommand.GivenOption], removing removed: Set<OptionID>
  ) -> [PathBytes] {
    let replaced = Set(added.map(\.id)).union(removed)
    let options = parsed.given.filter { !replaced.contains($0.id) } + added
    let words = options.map { $0.word(named: Self.name($0.id, parsed.command)) }
    guard parsed.command.takesWords else { return words + ["--"] + parsed.operands }
    return words + parsed.operands.map(Self.harmless) + ["--"] + parsed.words
  }

  /// A path that is not read as an option.
  private static func harmless(_ path: PathBytes) -> PathBytes {
    path.bytes.first == UInt8(ascii: "-") ? PathBytes(Array("./".utf8) + path.bytes) : path
  }

  /// The command of a shard: the planned one, with the allowed options of its own command line.
  func shard(_ own: ParsedCommand) throws(UsageError) -> ParsedCommand {
    guard own.command.name == parsed.command.name else {
      throw UsageError(
        "The plan is for '\(parsed.command.name)', not for '\(own.command.name)'.",
        in: own.command)
    }
    for option in own.given where !mayChoose(option.id) {
      let planned = parsed.given.filter { $0.id == option.id }.map(\.value)
      if planned == own.given.filter({ $0.id == option.id }).map(\.value) { continue }
      let name = Self.spelling(option.id, own.command)
      let there = planned.map { quote($0.argument) }.joined(separator: ", ")
      let (here, fixed) = (quote(option.value.argument), planned.isEmpty ? "nothing" : there)
      throw UsageError(
        "The plan fixes \(name): it has \(fixed) there, and \(here) was given.", in: own.command)
    }
    return ParsedCommand(
      command: parsed.command,
      given: parsed.given
        + own.given.filter {
          ![.plan, .shard, .force].contains($0.id) && mayChoose($0.id)
        },
      operands: parsed.operands, words: parsed.words)
  }

  private static func name(_ id: OptionID, _ command: CommandSpec) -> String {
    command.options.first { $0.id == id }?.long[0] ?? id.rawValue
  }

  private static func spelling(_ id: OptionID, _ command: CommandSpec) -> String {
    "--\(name(id, command))"
  }
}

extension ParsedCommand {
  /// The folder of a plan, which is the operand; the current one without an operand.
  ///
  /// - Throws: `invalid` for the empty name.
  var planFolder: PathBytes {
    get throws(BatchError) {
      let folder = operands.first ?? "."
      guard !folder.isEmpty else { throw BatchError(.invalid, "an operand is the empty name", path: folder) }
      return WorkingFolder.absolute(folder)
    }
  }
}
