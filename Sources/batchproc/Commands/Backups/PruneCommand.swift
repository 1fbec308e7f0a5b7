import BatchCore
import BatchEngine

struct PruneCommand: Command {
  private let choices: BackupChoices
  /// Where this machine stores its state of encrypted sets.
  private let state: StatePlace?
  private let removesUnlisted: Bool
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws {
    choices = try BackupChoices(parsed, directory: parsed.operands.first ?? ".")
    removesUnlisted = parsed.flag(.unlisted)
    guard removesUnlisted || !choices.retention.isEmpty else {
      throw UsageError("No rule keeps any snapshot; please give a --keep option.", in: parsed.command)
    }
    state = StateFile.place("manifests", environment: environment)
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    let context = session.context
    if let error = SetHint.remote(choices.directory, to: .prune) { throw error }
    let set = try choices.set(session, state: state)
    let prune = try choices.prune(
      set, common.dryRun ? .dryRun : .taken(choices.patience), removesUnlisted: removesUnlisted,
      removesDamaged: true, isSynced: common.fsync, in: context)
    session.warn(ofFuture: prune.future)
    if set.keys != nil {
      for decision in prune.decisions where !decision.snapshot.isOpened {
        session.warn(
          BatchError(
            .unsupported, "needs another key: its companion is not compared with it",
            path: set.path(decision.snapshot.name.manifest)))
      }
    }
    if common.dryRun || common.verbose || common.json { try show(prune) }
    if let events = session.events {
      try events.writeSummary { line in
        line.add("seen", prune.decisions.count)
        line.add("kept", prune.decisions.count - prune.removed.count)
        line.add("removed", prune.removed.count)
        line.add("archives_removed", prune.archives.count)
        line.add("archives_compacted", prune.compacted.count)
        line.add("bytes_won", prune.wonByCompaction)
        if !prune.damagedFiles.isEmpty { line.add("damaged_removed", prune.damagedFiles.count) }
      }
    }
    try session.output.finish()
    if !common.json, !common.quiet {
      let verb = common.dryRun ? "would remove" : "removed"
      let kept = prune.decisions.count - prune.removed.count
      let removed = ByteCount.counted(prune.removed.count, "snapshot")
      let archives = ByteCount.counted(prune.archives.count, "archive")
      let stay = "\(ByteCount.counted(kept, "snapshot")) stay\(kept == 1 ? "s" : "")"
      session.diagnostics.print(
        "\(verb) \(removed) and \(archives)\(prune.compaction(isPlanned: common.dryRun))\(prune.repaired); \(stay)"
      )
    }
    return .exit(.success)
  }

  private func show(_ prune: Prune) throws(BatchError) {
    let origins = prune.decisions.map(\.snapshot.header.origin)
    let hasSeveral = Set(origins).count > 1
    try session.write(prune.decisions, as: "snapshot") { line, decision in
      line.add("id", decision.snapshot.name.stamp)
      line.add("sequence", decision.snapshot.header.sequence)
      line.add("kept", !decision.reasons.isEmpty)
      line.add("reasons", decision.reasons.map(\.word).joined(separator: ", "))
      decision.snapshot.addOrigin(to: &line)
    } text: { decision, rows in
      let snapshot = decision.snapshot
      let time = CalendarTime(snapshot.header.started.seconds).text
      let verdict =
        decision.reasons.isEmpty
        ? "remove" : "keep    " + decision.reasons.map(\.word).joined(separator: ", ")
      rows += "\(snapshot.name.stamp)  \(time)  \(verdict)".utf8
      if hasSeveral {
        rows += "  ".utf8
        TerminalText.append(Array(snapshot.header.origin.utf8), to: &rows)
      }
      rows.append(UInt8(ascii: "\n"))
    }
    guard let events = session.events else {
      var rows: [UInt8] = []
      for archive in prune.unlisted {
        rows += "\(archive.stamp)  \("no manifest".padding(to: 16))  remove\n".utf8
      }
      for one in prune.compacted {
        let (before, after) = (
          ByteCount.text(Int64(clamping: one.before)), ByteCount.text(Int64(clamping: one.after))
        )
        rows += "\(one.archive.stamp)  \("archive".padding(to: 16))  compact \(before) to \(after)\n".utf8
      }
      return try session.output.write(rows)
    }
    for archive in prune.archives {
      try events.write("archive") { line in
        line.add(path: archive.archive)
        line.add("kept", false)
      }
    }
    for one in prune.compacted {
      try events.write("archive") { line in
        line.add(path: one.archive.archive)
        line.add("kept", true)
        line.add("bytes_before", one.before)
        line.add("bytes", one.after)
      }
    }
  }
}

extension Prune {
  var wonByCompaction: UInt64 { compacted.reduce(into: 0) { $0 += $1.won } }

  /// A part of the summary; empty if no damaged file was kept.
  var repaired: String {
    damagedFiles.isEmpty
      ? "" : ", and \(ByteCount.counted(damagedFiles.count, "damaged file")) that a repair had kept"
  }

  /// A part of the summary; empty if no archive became smaller.
  func compaction(isPlanned: Bool) -> String {
    guard !compacted.isEmpty else { return "" }
    let won = ByteCount.text(Int64(clamping: wonByCompaction))
    let archives = ByteCount.counted(compacted.count, "archive")
    return isPlanned
      ? ", and compact \(archives) to win about \(won)" : ", compacted \(archives) and won \(won)"
  }
}

extension BackupChoices {
  /// Removes the snapshots that no rule keeps.
  ///
  /// - Parameters:
  ///   - own: a snapshot of the only series to which the rules apply; nil for all series.
  ///   - removesUnlisted: whether archives without a manifest that no snapshot needs are removed too.
  ///   - removesDamaged: whether damaged files that a repair has replaced and kept are removed too.
  func prune(
    _ set: BackupSet, of own: SnapshotName? = nil, _ locking: PruneCall.Locking,
    removesUnlisted: Bool = false, removesDamaged: Bool = false,
    isSynced: Bool, in run: RunContext
  ) throws(BatchError) -> Prune {
    var call = PruneCall(retention, locking) { _ in set }
    (call.grouping, call.own, call.isSynced) = (grouping, own, isSynced)
    call.leastUsed = leastUsed
    (call.removesUnlisted, call.removesDamaged) = (removesUnlisted, removesDamaged)
    let outcome = try call.perform(.items([]), in: run, watchedBy: Unwatched()) { _ in }
    if let error = outcome.summary.stopped ?? outcome.failure { throw error }
    guard let prune = outcome.result else { throw BatchError(.cancelled, "stopped") }
    return prune
  }
}

extension Snapshot {
  /// Adds machine, sources and failures, as far as they are known.
  func addOrigin(to line: inout JSONLine) {
    if let machine = header.machine { line.add("machine", machine) }
    if let host = header.host { line.add("host", host) }
    if let paths = header.sources?.paths { line.add(paths: paths, as: "sources") }
    if let failures = footer.failures { line.add("failures", failures) }
  }
}

extension Prune.Reason {
  /// The name in tables and JSON.
  var word: String {
    switch self {
    case .newestVerified: "newest verified"
    case .newestComplete: "newest without failures"
    case .newestKnown: "newest known"
    case .future: "in the future"
    case .untilNext: "newest before the next"
    case .noRule: "no rule"
    case .otherSeries: "another series"
    case .rule(let rule): rule.rawValue
    }
  }
}
