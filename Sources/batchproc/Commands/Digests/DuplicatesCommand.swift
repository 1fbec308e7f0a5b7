import BatchCore
import BatchEngine
import Synchronization

struct DuplicatesCommand: Command {
  private let form: DuplicateForm
  private let endsNamesInNUL: Bool
  private let usesCache: Bool
  private let comparesFolders: Bool
  /// Nil if groups are only printed.
  private let linking: DuplicateLinking?
  private let operands: [PathBytes]
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    form = parsed.choice(.format) ?? .text
    endsNamesInNUL = parsed.flag(.zero)
    usesCache = parsed.flag(.cache)
    comparesFolders = parsed.flag(.folders)
    if comparesFolders, let how = parsed.choice(.link) as LinkMode? {
      throw UsageError(
        "--folders cannot be used with --link: it only prints. Type '--link \(how.rawValue)' alone.",
        in: parsed.command)
    }
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
    let operands = session.operands(operands)
    if common.dryRun, linking == nil {
      return try DryRun(session: session, verb: "would compare", isNULEnded: endsNamesInNUL).run(
        operands, walk)
    }
    var call = DuplicatesCall()
    call.cache = usesCache ? session.cache(verifiedShare: 0) : nil
    call.givesSHA256 = session.events != nil
    call.keepsNames = linking != nil
    call.comparesFolders = comparesFolders
    let surplus = Surplus()
    let outcome = try session.run(call, .paths(operands, walk)) {
      [self, linking] (found) throws(BatchError) in
      if linking == nil {
        try write(found.folders)
        try write(found.files)
      }
      surplus.set(found, keeping: linking != nil)
    }
    if let failure = outcome.result?.cacheFailure { session.diagnostics.report(failure, as: .warning) }
    return try finish(outcome, surplus)
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

  private func write(_ groups: [DuplicateFolderGroup]) throws(BatchError) {
    try session.write(groups, as: "duplicate_folders") { line, group in
      line.add("size", group.size)
      line.add("count", group.fileCount)
      line.add(paths: group.paths, as: "folders")
    } text: { group, bytes in
      let (count, noun) = ByteCount.tally(group.fileCount, "file")
      // The slash distinguishes folders from files.
      append(
        group.paths.map { $0.bytes.last == UInt8(ascii: "/") ? $0 : PathBytes($0.bytes + "/".utf8) },
        "\(group.paths.count) folders of \(ByteCount.text(group.size)) in \(count) \(noun):", to: &bytes)
    }
  }

  private func append(_ group: DuplicateGroup, to bytes: inout [UInt8]) {
    append(group.paths, "\(group.paths.count) files of \(ByteCount.text(group.size)):", to: &bytes)
  }

  private func append(_ paths: [PathBytes], _ heading: String, to bytes: inout [UInt8]) {
    if endsNamesInNUL {
      for path in paths { bytes += path.bytes + [0] }
      return bytes.append(0)
    }
    if form == .text { bytes += "\(heading)\n".utf8 }
    for path in paths {
      if form == .text { bytes += "  ".utf8 }
      TerminalText.append(path.bytes, to: &bytes)
      bytes.append(UInt8(ascii: "\n"))
    }
    if form == .fdupes { bytes.append(UInt8(ascii: "\n")) }
  }

  private func finish(
    _ outcome: CallOutcome<DuplicatesCall.Result>, _ surplus: Surplus
  ) throws(BatchError) -> Ending {
    if let linking {
      if let ending = session.endingOfStopped(outcome.summary) { return ending }
      return try linking.run(surplus.groups, after: outcome, in: session)
    }
    return session.ending(outcome) { result in
      let counts = outcome.summary.counts
      let found = surplus.value
      var tallies = [(found.groups, "groups"), (found.files, "surplus")]
      if comparesFolders {
        tallies += [(found.folderGroups, "folder_groups"), (found.folders, "surplus_folders")]
      }
      return SummaryText(
        verb: "compared", files: counts.done, bytes: counts.byteCount,
        others: [
          ByteCount.tally(found.folderGroups, "folder group"),
          ByteCount.tally(found.folders, "surplus folder"),
          ByteCount.tally(found.groups, "group"), ByteCount.tally(found.files, "surplus file"),
          (counts.changed, "changed meanwhile"), (counts.skipped, counts.skippedWord),
          (counts.failed, "failed"), (result.known, "known"),
        ], tallies: tallies)
    }
  }
}

/// How many groups there are, and how many of their files and folders are copies of the first one.
private final class Surplus: Sendable {
  struct Counts {
    var groups = 0
    var files = 0
    var folderGroups = 0
    var folders = 0
  }

  private let state = Mutex(Counts())
  private let kept = Mutex<[DuplicateGroup]>([])

  var value: Counts { state.withLock { $0 } }
  /// The groups that are kept for linking.
  var groups: [DuplicateGroup] { kept.withLock { $0 } }

  func set(_ found: DuplicateGroups, keeping isKept: Bool) {
    let counts = Counts(
      groups: found.files.count, files: found.files.reduce(0) { $0 + $1.files.count - 1 },
      folderGroups: found.folders.count, folders: found.folders.reduce(0) { $0 + $1.paths.count - 1 })
    state.withLock { $0 = counts }
    if isKept { kept.withLock { $0 = found.files } }
  }
}
