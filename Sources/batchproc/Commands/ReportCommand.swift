import BatchCore
import BatchEngine
import BatchOutputs

struct ReportCommand: Command {
  private let directory: PathBytes
  private let name: PathBytes?
  private let output: PathBytes?
  private let replacesOutput: Bool
  /// Where this machine stores its state of encrypted sets.
  private let state: StatePlace?
  let session: Session

  init(_ parsed: ParsedCommand, common: CommonOptions, environment: Environment) throws(BatchError) {
    directory = parsed.operands.first ?? "."
    name = parsed.bytes(.setName)
    let target = parsed.bytes(.output)
    output = target == "-" ? nil : target
    replacesOutput = parsed.flag(.force)
    state = StateFile.place("manifests", environment: environment)
    session = try Session(common, environment: environment)
  }

  func run() throws(BatchError) -> Ending {
    let context = session.context
    if let error = SetHint.remote(directory, to: .report) { throw error }
    let file = try output.map { (path) throws(BatchError) in
      try OutputFile(
        path, isReplacing: replacesOutput || ReportPage.isOne(path), isSynced: common.fsync, in: context)
    }
    let sets = try self.sets().map { (set) throws(BatchError) in try SetFacts(set, in: context) }
    let now = FileStatus.Time.now.seconds
    for set in sets { report(set, now) }
    let page = SetPage(
      directory: WorkingFolder.absolute(directory), host: HostName.current, sets: sets,
      now: now)
    let stream: any ResultStream = file ?? session.output
    try stream.write(page.html())
    try stream.finish()
    if let file, !common.quiet {
      session.diagnostics.print(
        "wrote a page about \(ByteCount.counted(sets.count, "set")) to \(TerminalText.string(file.path.bytes))"
      )
    }
    return .exit(sets.allSatisfy { $0.isWhole && !$0.isFuture(at: now) } ? .success : .differences)
  }

  /// - Throws: `missing` when there is no set, or no set with the given name.
  private func sets() throws(BatchError) -> [BackupSet] {
    let all = try BackupSet.names(in: directory, calls: session.context.calls)
    let names = name.map { [$0] } ?? all
    guard !names.isEmpty else {
      throw BatchError(.missing, "there is no snapshot in this folder", path: directory)
    }
    return try names.map { (name) throws(BatchError) in
      var set = try BackupSet(in: directory, named: name, session.context)
      set.privateFolder = state
      return set
    }
  }

  private func report(_ set: SetFacts, _ now: Int64) {
    for series in set.series where series.isFuture(at: now) {
      session.fail(
        BatchError(
          .special,
          "the newest snapshot of the set \(set.name), \(series.newest.id), is in the future",
          path: directory))
    }
    for series in set.series {
      if let first = series.firstWithFailures { session.warn(ofFailuresSince: first.id, of: first.origin) }
    }
    for error in set.damaged { session.fail(error) }
    session.warn(ofUnlisted: set.unlisted, in: directory)
    for row in set.rows {
      for fault in row.faults {
        let name = SnapshotName(set: set.name, stamp: fault, isEncrypted: row.isEncrypted)
        session.fail(directory.appending(name.archive.bytes), neededBy: row.id)
      }
    }
  }
}
