import BatchCore
import BatchEngine

/// `batchproc parity`: makes recovery data, and compares or repairs files by them.
struct ParityCommand: Command {
  private enum Action {
    case create(ParityCreateCall, [PathBytes])
    case verify(ParityVerifyCall)
  }

  private static let words: [PathBytes: String] = [
    "create": "create", "c": "create", "verify": "verify", "v": "verify", "repair": "repair", "r": "repair",
  ]

  private let action: Action
  private let isRepairing: Bool
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    guard let word = parsed.operands.first, let action = Self.words[word] else {
      throw UsageError("The first word must be 'create', 'verify' or 'repair'.", in: parsed.command)
    }
    let paths = Array(parsed.operands.dropFirst())
    guard let first = paths.first ?? (common.fileLists.isEmpty ? nil : "") else {
      throw UsageError("Missing expected argument '<path> ...'.", in: parsed.command)
    }
    isRepairing = action == "repair"
    try Self.check(parsed, isCreating: action == "create")
    if action == "create" {
      guard !first.isEmpty else {
        throw UsageError(
          "The first path must be given, since the recovery data are named after it.", in: parsed.command)
      }
      var options = try ParityOptions(parsed) ?? ParityOptions(.share(ParityOptions.usualShare))
      options.blockSize = parsed.size(.blockSize).flatMap { Int(exactly: $0) }
      options.blockCount = parsed.count(.blockCount)
      options.volumeCount = parsed.count(.volumes) ?? 1
      let isNamed = ParityNames.isParity(first)
      let sources = isNamed ? Array(paths.dropFirst()) : paths
      guard !sources.isEmpty || !common.fileLists.isEmpty else {
        throw UsageError("Missing expected argument '<path> ...': what is protected.", in: parsed.command)
      }
      var call = ParityCreateCall(options, at: Self.withoutSlashes(isNamed ? ParityNames.stem(first) : first))
      (call.base, call.isReplacing, call.isSynced) = (parsed.bytes(.base), parsed.flag(.force), common.fsync)
      session = try Session(common, environment: environment, for: &call)
      self.action = .create(call, sources)
    } else {
      guard !first.isEmpty else {
        throw UsageError("Missing expected argument '<path> ...'.", in: parsed.command)
      }
      var call = ParityVerifyCall(Self.withoutSlashes(first))
      (call.base, call.extra, call.isSynced) = (parsed.bytes(.base), Array(paths.dropFirst()), common.fsync)
      (call.isRepairing, call.keepsDamaged) = (isRepairing, !parsed.flag(.force))
      session = try Session(common, environment: environment, for: &call)
      self.action = .verify(call)
    }
  }

  /// Refuses options that contradict each other, and those of another action. What the configuration has applies where it can.
  private static func check(_ parsed: ParsedCommand, isCreating: Bool) throws(UsageError) {
    func fail(_ message: String) -> UsageError { UsageError(message, in: parsed.command) }
    let typed = parsed.typed
    let ofCreate: [(OptionID, String)] = [
      (.parity, "parity"), (.parityBlocks, "parity-blocks"), (.blockSize, "block-size"),
      (.blockCount, "block-count"), (.volumes, "volumes"),
    ]
    guard isCreating else {
      if let (_, name) = ofCreate.first(where: { typed.contains($0.0) }) {
        throw fail("--\(name) is an option of 'create': recovery data that exist are used as they are.")
      }
      return
    }
    if typed.isSuperset(of: [.blockSize, .blockCount]) {
      throw fail("--block-size cannot be used with --block-count.")
    }
    if let size = parsed.size(.blockSize), !size.isMultiple(of: 4) {
      throw fail("The value '\(size)' is invalid for '--block-size <size>': a multiple of 4.")
    }
  }

  private static func withoutSlashes(_ path: PathBytes) -> PathBytes {
    var bytes = path.bytes
    while bytes.count > 1, bytes.last == UInt8(ascii: "/") { bytes.removeLast() }
    return PathBytes(bytes)
  }

  func run() throws(BatchError) -> Ending {
    switch action {
    case .create(let call, let sources):
      let walk = try session.walkOptions()
      let outcome = try session.run(call, .paths(session.operands(sources), walk)) { _ in }
      return session.ending(outcome) { (result) throws(BatchError) in try summary(of: result, outcome.summary)
      }
    case .verify(let call):
      let rows = ParityReportRows(session)
      let outcome = try session.run(call, .items([])) { (report) throws(BatchError) in try rows.write(report)
      }
      return session.ending(outcome) { ParityReportRows.summary(of: $0, isRepairing: isRepairing) }
    }
  }

  private func summary(
    of result: ParityCreateCall.Result, _ summary: RunSummary
  ) throws(BatchError) -> SummaryText {
    let counts = summary.counts
    if common.verbose, let layout = result.layout {
      session.diagnostics.print(
        "\(ByteCount.counted(layout.blockCount, "block")) of \(layout.blockSize) bytes, \(ByteCount.counted(layout.recoveryCount, "recovery block"))"
      )
      for name in result.names { session.diagnostics.print(TerminalText.string(name.bytes)) }
    }
    return SummaryText(
      verb: "protected", files: counts.done, bytes: result.inputSize, output: result.size,
      others: [
        (result.layout?.recoveryCount ?? 0, "recovery blocks"), (counts.skipped, counts.skippedWord),
        (counts.failed, "failed"),
      ],
      tallies: [
        (result.layout?.blockSize ?? 0, "block_size"), (result.layout?.blockCount ?? 0, "blocks"),
        (result.layout?.recoveryCount ?? 0, "recovery_blocks"),
      ])
  }
}
