import BatchCore
import BatchEngine

/// A command that is one call, which a plan can divide among shards.
protocol DividedCommand: Command {
  associatedtype Job: Call

  /// The call that the options describe.
  ///
  /// - Parameter environment: the variables that may change the result; none for a shard or a merge, since the plan has their
  ///   values.
  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) throws -> Job

  /// - Parameter shard: the shard of a plan that is processed; nil to process the operands.
  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws

  /// The options whose values a plan stores, since they depend on this machine: paths from the root, times.
  static func fixedOptions(
    _ parsed: ParsedCommand, environment: @escaping Environment
  ) throws -> [ParsedCommand.GivenOption]

  /// What a merge reports about the sums of all shards.
  static func merged(_ tally: CallTally) -> MergedCounts
}

/// The counts in the summary of a merge.
struct MergedCounts {
  var files: Int
  var words: [(count: Int, word: String)] = []
  /// Lines after the rows.
  var warnings: [String] = []
}

extension DividedCommand {
  static func fixedOptions(
    _ parsed: ParsedCommand, environment: @escaping Environment
  ) throws -> [ParsedCommand.GivenOption] {
    guard let output = parsed.bytes(.output), output != "-" else { return [] }
    return [.init(id: .output, value: .bytes(WorkingFolder.absolute(output)))]
  }

  static func merged(_ tally: CallTally) -> MergedCounts { MergedCounts(files: tally.counts.done) }

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment) throws {
    try self.init(parsed, common: common, environment: environment, shard: nil)
  }
}
