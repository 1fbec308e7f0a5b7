import BatchCore
import BatchEngine
import Synchronization

struct DuplicatesCommand: Command {
  private let form: DuplicateForm
  private let endsNamesInNUL: Bool
  private let usesCache: Bool
  /// Nil if groups are only printed.
  private let linking: DuplicateLinking?
  private let operands: [PathBytes]
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws(BatchError) {
    form = parsed.choice(.format) ?? .text
    endsNamesInNUL = parsed.flag(.zero)
    usesCache = parsed.flag(.cache)
    linking = parsed.choice(.link).map {
      DuplicateLinking(mode: $0, common: common, endsNamesInNUL: parsed.flag(.zero))
    }
    operands = parsed.operands
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    var walk = try session.walkOptions()
    walk.skipsTemporaries = true
    walk.excluded.formUnion([StandardStreams.outputFile].compactMap { $0 })
    let mayRepeat = operands.count > 1 || !common.fileLists.isEmpty
    let operands = Operands(operands, lists: common.fileLists, run: session.context)
    let tree = session.context.tree(operands.counted, options: walk)
    let total = operands.total(walk)
    if common.dryRun, linking == nil {
      return DryRun(session: session, verb: "would compare", isNULEnded: endsNamesInNUL)
        .run(over: tree, total: total)
    }
    let cache = usesCache ? session.cache(verifiedShare: 0) : nil
    let source = DuplicateSource(tree, mayRepeat: mayRepeat)
    let surplus = Surplus()
    let job = DuplicateJob(
      of: source, cache: cache, givesSHA256: session.events != nil, keepsNames: linking != nil
    ) { (groups) throws(BatchError) in
      if linking == nil { try write(groups) }
      surplus.set(groups, keeping: linking != nil)
    }
    let summary = session.run(job, over: source, total: total).summary
    if let failure = cache?.finish() { session.diagnostics.report(failure, as: .warning) }
    return finish(summary, cache, surplus)
  }

  private func write(_ groups: [DuplicateGroup]) throws(BatchError) {
    try session.write(groups, as: "duplicates") { line, group in
      line.add("size", group.size)
      line.add("sha256", group.digest.hex)
      line.add(paths: group.paths, as: "files")
    } text: { group, bytes in
      append(group, to: &bytes)
    }
  }

  private func append(_ group: DuplicateGroup, to bytes: inout [UInt8]) {
    if endsNamesInNUL {
      for path in group.paths { bytes += path.bytes + [0] }
      return bytes.append(0)
    }
    if form == .text {
      bytes += "\(group.paths.count) files of \(ByteCount.text(group.size)):\n".utf8
    }
    for path in group.paths {
      if form == .text { bytes += "  ".utf8 }
      TerminalText.append(path.bytes, to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
    }
    if form == .fdupes { bytes.append(UInt8(ascii: "\n")) }
  }

  private func finish(_ summary: RunSummary, _ cache: DigestCache?, _ surplus: Surplus) -> Ending {
    if let linking {
      if let ending = session.endingOfStopped(summary) { return ending }
      return linking.run(surplus.groups, after: summary, in: session)
    }
    if let ending = session.endingBeforeSummary(summary) { return ending }
    let counts = summary.counts
    let found = surplus.value
    session.reporter.summary(
      summary,
      text: SummaryText(
        verb: "compared", files: counts.done, bytes: counts.byteCount,
        others: [
          ByteCount.tally(found.groups, "group"), ByteCount.tally(found.files, "surplus file"),
          (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
          (counts.failed, "failed"), (cache?.knownCount ?? 0, "known"),
        ], tallies: [(found.groups, "groups"), (found.files, "surplus")]))
    return .exit(ExitStatus(counts))
  }
}

/// How many groups there are, and how many of their files are copies of the first one.
private final class Surplus: Sendable {
  private let state = Mutex((groups: 0, files: 0))
  private let kept = Mutex<[DuplicateGroup]>([])

  var value: (groups: Int, files: Int) { state.withLock { $0 } }
  /// The groups that are kept for linking.
  var groups: [DuplicateGroup] { kept.withLock { $0 } }

  func set(_ groups: [DuplicateGroup], keeping isKept: Bool) {
    let files = groups.reduce(0) { $0 + $1.files.count - 1 }
    state.withLock { $0 = (groups.count, files) }
    if isKept { kept.withLock { $0 = groups } }
  }
}
