import BatchCore
import BatchEngine
import BatchOutputs

/// `batchproc cat`, and `batchproc decompress --stdout`.
struct CatCommand: Command {
  private let operands: [PathBytes]
  private let naming: OutputNaming
  private let call: CatCall
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment) throws {
    let choices = try TransformChoices(parsed, compresses: false, writesToStdout: true)
    try DataOnOutput.refuseEvents(parsed, common, isStream: true)
    operands = parsed.operands
    naming = choices.outputs.naming
    var call = CatCall(mostOutput: choices.maximumOutput.map { UInt64(clamping: $0) })
    session = try Session(common, environment: environment, for: &call)
    call.stream = session.output
    call.width = session.width
    self.call = call
  }

  func run() throws(BatchError) -> Ending {
    let operands = session.operands(operands)
    var walk = try session.walkOptions()
    if common.dryRun {
      walk.skipsTemporaries = true
      return try DryRun(session: session, verb: "would decompress").run(operands, walk) { [naming] record in
        naming.target(of: record.path) == nil && !record.isOperand ? nil : record.path
      }
    }
    let outcome = try session.run(call, .paths(operands, walk)) { _ in }
    return session.ending(outcome) { sizes in
      let counts = outcome.summary.counts
      return SummaryText(
        verb: "decompressed", files: counts.done, bytes: sizes.compressed, output: sizes.plain,
        others: counts.unprocessed)
    }
  }
}

/// Refuses `--json` where standard output carries data.
enum DataOnOutput {
  /// - Parameter isStream: whether the option or the command writes all results to standard output.
  static func refuseEvents(
    _ parsed: ParsedCommand, _ common: CommonOptions, isStream: Bool
  ) throws(UsageError) {
    guard common.json, !common.dryRun, isStream || parsed.operands.contains("-") else { return }
    throw UsageError(
      "--json cannot be used with \(isStream ? "--stdout" : "-"): standard output carries the data.",
      in: parsed.command)
  }
}
