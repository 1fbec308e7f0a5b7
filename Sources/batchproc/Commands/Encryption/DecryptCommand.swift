import BatchCore
import BatchEngine

/// `batchproc cat --identity`: prints the decrypted content of age files.
struct DecryptCommand: Command {
  private let operands: [PathBytes]
  private let limit: Int64?
  private let keys: AgeKeys
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    if common.json, !common.dryRun {
      throw UsageError(
        "--json cannot be used with cat: standard output carries the data.", in: parsed.command)
    }
    operands = parsed.operands
    limit = parsed.size(.maxOutput)
    keys = try EncryptionChoices.keys(parsed) ?? AgeKeys()
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    let start = ContinuousClock.now
    let operands = session.operands(operands)
    var counts = Counters.Snapshot()
    var size: Int64 = 0
    for path in operands.counted {
      counts.seen += 1
      do throws(BatchError) {
        size += try print(path)
        counts.done += 1
      } catch {
        try session.cancellation.check()
        if error.code == .closedOutput { throw error }
        counts.failed += 1
        session.fail(
          error.path == nil ? error.at(path) : error, as: error.code == .missing ? .missing : .unreadable)
      }
    }
    try session.output.finish()
    session.reporter.summary(
      RunSummary(counts: counts, stopped: nil, elapsed: ContinuousClock.now - start),
      text: SummaryText(
        verb: "decrypted", files: counts.done, bytes: size, others: [(counts.failed, "failed")]))
    return .exit(counts.failed == 0 ? .success : counts.done == 0 ? .fatal : .someFailed)
  }

  /// - Returns: how many bytes were printed.
  private func print(_ path: PathBytes) throws(BatchError) -> Int64 {
    let content = try DecryptedContent(
      path, keys: session.keys(keys) ?? keys, width: session.width, in: session.context)
    var size: Int64 = 0
    while true {
      try session.cancellation.check()
      let piece = try content.next()
      if piece.isEmpty { return size }
      size += Int64(piece.count)
      if let limit, size > limit {
        throw BatchError(.malformed, "its content is larger than --max-output", path: path)
      }
      try session.output.write(piece)
    }
  }
}
