import BatchCore
import BatchEngine
import Synchronization

struct CheckCommand: DividedCommand {
  private let options: CheckOptions
  private let manifests: [PathBytes]
  private var call: CheckCall
  private let shard: ShardTask?
  private let missing = MissingName()
  let session: Session

  /// The least of the missing names, so that it is the same at every concurrency.
  private final class MissingName: Sendable {
    let path = Mutex<PathBytes?>(nil)
  }

  static func makeCall(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment
  ) -> CheckCall {
    let options = CheckOptions(parsed)
    var call = CheckCall(options.reading, in: options.directory)
    call.ignoresMissing = options.ignoresMissing
    call.ignoresMalformed = options.ignoresMalformed
    call.failsOnOtherLines = options.failsOnBadLines
    return call
  }

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: @escaping Environment, shard: ShardTask?
  ) throws {
    options = CheckOptions(parsed)
    self.shard = shard
    manifests = parsed.operands
    call = Self.makeCall(parsed, common: common, environment: environment)
    session = try Session(common, environment: environment, for: &call, shard: shard)
    let render = CheckRows(
      form: session.events != nil ? .members : options.printsNoRows ? .none : .lines,
      // The plan determines the rows, not the reporting options of a task.
      showsMatches: !(shard?.planned.flag(.quiet) ?? common.quiet), escapesControls: options.escapesControls)
    call.render = { [missing] (entry, outcome, bytes) in
      if outcome == .missing { missing.path.withLock { $0 = min($0 ?? entry.path, entry.path) } }
      render.append(entry, outcome, to: &bytes)
    }
  }

  func run() throws(BatchError) -> Ending {
    if let shard {
      return try shard.run(call, in: session) { [options, session] (chunk, result) throws(BatchError) in
        if options.warnsOfBadLines {
          for error in chunk.text { try result.write(Problem(.malformed, error), severity: .warning) }
        }
        try result.write(rows: chunk.rows.bytes)
        session.advanced(chunk.count)
      } finish: {
        finish($0, manifests: nil)
      }
    }
    if manifests.count == 1, let error = SetHint.file(manifests[0], in: session.context) { throw error }
    let operands = session.operands(manifests)
    let walk = try session.walkOptions()
    if common.dryRun {
      return try DryRun(session: session, verb: "would check").run(operands, walk, of: call)
    }
    let results = ResultWriter(session)
    let outcome = try session.run(call, .paths(operands, walk)) {
      [options, session] (chunk) throws(BatchError) in
      if options.warnsOfBadLines { chunk.text.forEach { session.diagnostics.report($0, as: .warning) } }
      for path in chunk.different { session.found(path, "the digest differs from the recorded one") }
      try results.write(chunk.rows)
    }
    return finish(outcome, manifests: operands.count)
  }

  /// - Parameter manifests: how many were given; nil for a part of their lines.
  private func finish(_ outcome: CallOutcome<CheckTally>, manifests: Int?) -> Ending {
    session.ending(outcome) { tally in
      if !options.printsNoRows {
        tally.warnings(of: manifests).forEach { session.diagnostics.report($0, as: .warning) }
        if tally.missing > 0, tally.missing == tally.entries { adviseOnFolder() }
      }
      return SummaryText(
        verb: shard?.verb("checked") ?? "checked", files: tally.matches + tally.differs,
        bytes: outcome.summary.counts.byteCount, others: tally.words,
        tallies: [
          (tally.matches, "matches"), (tally.differs, "differs"), (tally.missing, "missing"),
          (tally.unreadable, "unreadable"), (tally.ignored, "ignored"), (tally.malformed, "malformed"),
          (tally.text, "text"),
        ])
    }
  }

  /// Names the folder of the manifest if all files are missing and lie there: names in a manifest are relative to the folder in
  /// which it was made.
  private func adviseOnFolder() {
    guard options.directory == nil, manifests.count == 1, manifests[0] != "-",
      let name = missing.path.withLock({ $0 }), !name.isAbsolute
    else { return }
    let folder = manifests[0].parent
    guard folder != ".", (try? folder.appending(name.bytes).status(followingLinks: false)) != nil else {
      return
    }
    let place = TerminalText.string(ShellWord.bytes(folder))
    session.diagnostics.report("the names are found below \(place): use -C \(place)", as: .note)
  }

  static func merged(_ tally: CallTally) -> MergedCounts {
    let found = CheckTally(tally.findings)
    return MergedCounts(
      files: found.matches + found.differs, words: found.words, warnings: found.warnings(of: tally.paths))
  }
}

extension CheckTally {
  /// For the summary line.
  var words: [(count: Int, word: String)] {
    [
      (differs, "different"), (missing, "missing"), (unreadable, "unreadable"), (ignored, "ignored"),
      ByteCount.tally(malformed, "malformed row"), ByteCount.tally(text, "other line"),
    ]
  }

  /// The sentences after the rows, as coreutils writes them.
  ///
  /// - Parameter manifests: how many were given; nil for a part of their lines.
  func warnings(of manifests: Int?) -> [String] {
    let counts = [
      (malformed + text, "line is improperly formatted", "lines are improperly formatted"),
      (missing, "listed file is missing", "listed files are missing"),
      (unreadable, "listed file could not be read", "listed files could not be read"),
      (differs, "computed checksum did NOT match", "computed checksums did NOT match"),
    ]
    return counts.filter { $0.0 > 0 }.map { "\(ByteCount.grouped($0.0)) \($0.0 == 1 ? $0.1 : $0.2)" }
      + (isWithoutProof(of: manifests) ? ["no file was verified"] : [])
  }
}
