import BatchCore
import BatchEngine

/// The command that a plan divides, as stored in the plan and as run by a shard.
struct PlannedCommand {
  /// Options that each run of a shard may set itself.
  static let free: Set<OptionID> = [
    .maxConcurrency, .threads, .maxOpenFiles, .maxMemory, .maxLoad, .stallWarning, .stallTimeout,
    .control,
    .qos,
    .on, .fsync, .progress, .quiet, .verbose, .color, .report, .force, .plan, .shard,
  ]
  private static let commands: [CommandID] = [.hash, .check, .archive, .compress, .decompress, .test]
  /// Options that are not allowed in a plan.
  private static let refused: Set<OptionID> = [
    .dryRun, .cache, .cacheVerify, .verify, .json, .report, .control, .toStdout, .plan, .shard,
  ]

  let parsed: ParsedCommand

  /// Reads a command to be planned, with the options from configuration and environment.
  ///
  /// - Parameter words: the name of the command, then its arguments.
  init(
    _ words: [PathBytes], in outer: CommandSpec, environment: @escaping Environment
  ) throws(UsageError) {
    let alone = try Self.parse(words, outer, CommandLineParser { _ in nil })
    let full = try Self.parse(
      words, outer,
      CommandLineParser(
        configuration: { () throws(UsageError) in try Configuration.read(environment: environment) },
        environment: environment))
    // Options about this machine do not apply to others.
    let named = Set(alone.given.map(\.id))
    let given = full.given.filter { named.contains($0.id) || !Self.free.contains($0.id) }
    for option in alone.given where Self.refused.contains(option.id) {
      throw UsageError(
        "A plan cannot be made with \(Self.spelling(option.id, full.command)).", in: outer)
    }
    guard !full.operands.contains("-") else {
      throw UsageError("Standard input cannot be divided.", in: outer)
    }
    if [.compress, .decompress].contains(full.command.id) {
      // Sources of several operands may have one output, which a single shard cannot detect.
      guard full.operands.count == 1,
        !given.contains(where: { [.filesFrom, .files0From].contains($0.id) })
      else {
        throw UsageError("A plan of '\(full.command.name)' takes one path.", in: outer)
      }
    }
    parsed = ParsedCommand(command: full.command, given: given, operands: full.operands)
  }

  init(_ plan: ShardPlan, in outer: CommandSpec) throws(UsageError) {
    let words = [PathBytes(plan.command)] + plan.arguments
    parsed = try Self.parse(words, outer, CommandLineParser { _ in nil })
  }

  private static func parse(
    _ words: [PathBytes], _ outer: CommandSpec, _ parser: CommandLineParser
  ) throws(UsageError) -> ParsedCommand {
    guard case .run(let parsed) = try parser.parse(words) else {
      throw UsageError("Missing the command that is to be divided.", in: outer)
    }
    guard commands.contains(parsed.command.id) else {
      let names = commands.map { "'\($0.rawValue)'" }.joined(separator: ", ")
      throw UsageError("'\(parsed.command.name)' cannot be divided: only \(names) can.", in: outer)
    }
    return parsed
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
    return options.map { $0.word(named: Self.name($0.id, parsed.command)) } + ["--"] + parsed.operands
  }

  /// The command of a shard: the planned one, with the allowed options of its own command line.
  func shard(_ own: ParsedCommand) throws(UsageError) -> ParsedCommand {
    guard own.command.id == parsed.command.id else {
      throw UsageError(
        "The plan is for '\(parsed.command.name)', not for '\(own.command.name)'.",
        in: own.command)
    }
    for option in own.given where !Self.free.contains(option.id) {
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
          ![.plan, .shard, .force].contains($0.id) && Self.free.contains($0.id)
        },
      operands: parsed.operands)
  }

  private static func name(_ id: OptionID, _ command: CommandSpec) -> String {
    command.options.first { $0.id == id }?.long[0] ?? id.rawValue
  }

  private static func spelling(_ id: OptionID, _ command: CommandSpec) -> String {
    "--\(name(id, command))"
  }
}
