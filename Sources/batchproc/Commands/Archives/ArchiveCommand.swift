import BatchCore
import BatchEngine
import BatchOutputs

struct ArchiveCommand: DividedCommand {
  private let choices: ArchiveChoices
  private let operands: [PathBytes]
  private var call: ArchiveCall
  private let shard: ShardTask?
  let session: Session
  private let tally = MemberTally()

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) throws -> ArchiveCall {
    let choices = try ArchiveChoices(parsed, environment: environment)
    var call = ArchiveCall(choices.options, stride: common.stride)
    if let path = choices.output {
      call.output = .file(.init(path, isReplacing: choices.replacesOutput, isSynced: common.fsync))
    }
    call.directory = choices.directory
    call.lock = choices.lock
    call.parity = choices.parity
    return call
  }

  static func fixedOptions(
    _ parsed: ParsedCommand, environment: @escaping Environment
  ) throws -> [ParsedCommand.GivenOption] {
    let choices = try ArchiveChoices(parsed, environment: environment)
    var fixed: [ParsedCommand.GivenOption] = []
    if let output = choices.output {
      fixed.append(.init(id: .output, value: .bytes(WorkingFolder.absolute(output))))
    }
    if let latest = choices.options.latestTime { fixed.append(.init(id: .mtime, value: .time(latest))) }
    return fixed
  }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    // The variables of one machine must not change the archive of all shards.
    let variables: Environment = shard == nil ? environment : { _ in nil }
    choices = try ArchiveChoices(parsed, environment: variables)
    if common.json, !common.dryRun, choices.output == nil {
      throw UsageError(
        "--json cannot be used with -o -: standard output carries the archive.", in: parsed.command)
    }
    operands = parsed.operands
    self.shard = shard
    call = try Self.makeCall(parsed, common: common, environment: variables)
    if shard != nil {
      call.output = .none
      call.directory = nil
    }
    session = try Session(common, environment: environment, for: &call, shard: shard)
    if shard == nil, choices.output == nil { call.output = .stream(session.output) }
  }

  func run() throws(BatchError) -> Ending {
    if let shard {
      return try shard.run(call, in: session) { [tally, session] (members, _) in
        tally.add(members)
        session.advanced(members.count)
      } finish: {
        finish($0)
      }
    }
    try checkOutput()
    let input = CallInput.paths(
      session.operands(operands, areAbsolute: true), try session.walkOptions(forAllBut: []))
    if common.dryRun { return try preview(input) }
    let outcome = try session.run(call, input) { [tally, session] (members) throws(BatchError) in
      tally.add(members)
      try session.tell(members)
    }
    return finish(outcome)
  }

  /// - Throws: `invalid` when the archive would go to a terminal or cannot be read back.
  private func checkOutput() throws(BatchError) {
    guard let path = choices.output else {
      guard !common.dryRun, !choices.replacesOutput, StandardStreams.isTerminal(.output) else { return }
      throw BatchError(
        .invalid, "an archive is not written to a terminal",
        remedy: "redirect standard output, or give --force")
    }
    guard choices.parity == nil || !OutputFile.isDevice(path) else {
      throw BatchError(.invalid, "is a pipe or a device: --parity cannot read it back", path: path)
    }
    guard !choices.isVerified || !OutputFile.isDevice(path) else {
      throw BatchError(.invalid, "is a pipe or a device: --verify cannot read it back", path: path)
    }
  }

  /// Lists and counts the files that would be archived.
  private func preview(_ input: CallInput) throws(BatchError) -> Ending {
    let results = ResultWriter(session)
    let preview = ArchivePreviewCall(of: call) { [tally] (record, entry, bytes) in
      tally.add(entry.kind, entry.size)
      results.append(name: record.path, to: &bytes)
    }
    let outcome = try session.run(preview, input) { (rows) throws(BatchError) in try results.write(rows) }
    return session.ending(outcome) { _ in
      SummaryText(
        verb: "would archive", files: tally.files, bytes: tally.bytes, kinds: tally.kinds,
        others: outcome.summary.counts.unprocessed)
    }
  }

  private func finish(_ outcome: CallOutcome<ArchiveCall.Result>) -> Ending {
    session.ending(outcome, writesOutput: false) { result in
      let counts = outcome.summary.counts
      return SummaryText(
        verb: shard?.verb("archived") ?? "archived", files: tally.files, bytes: tally.bytes,
        output: result.size, kinds: tally.kinds,
        others: [
          (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
          (counts.failed, "failed"), (result.verified ?? 0, "verified"),
          (Int(clamping: result.paritySize ?? 0), "bytes of recovery data"),
        ],
        tallies: [
          (result.verified, "verified"), (result.paritySize.map { Int(clamping: $0) }, "parity_bytes"),
        ]
        .compactMap { (count, key) in count.map { ($0, key) } })
    }
  }
}
