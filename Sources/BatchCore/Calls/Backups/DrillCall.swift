import BatchEngine
import Synchronization

/// Restores a part of a snapshot to a temporary folder, and compares it with the manifest.
package struct DrillCall: Call {
  private let open: (RunContext) throws(BatchError) -> (snapshot: Snapshot, set: BackupSet)
  /// The folder for the restored files, which are removed again.
  private let temporary: PathBytes
  /// The share of the files and of the bytes, above 0 and up to 1.
  package var share = 0.05
  /// Nil for no limit. The portion that is restored when it is used up is completed.
  package var budget: Duration?
  /// Whether the files that were backed up are compared too.
  package var isAgainstLive = false
  package var isSynced = true
  /// How long to wait while another run removes archives; nil if the set is locked already.
  package var patience: SetLock.Patience?
  package var pathLimits = PathLimits()
  /// Called with the context of each run that restores or compares files.
  package var follow: (RunContext) -> Void = { _ in }

  /// - Parameter open: opens a set and its snapshot, with all facts of its manifest; called once.
  package init(
    temporary: PathBytes,
    of open: @escaping (RunContext) throws(BatchError) -> (snapshot: Snapshot, set: BackupSet)
  ) {
    (self.temporary, self.open) = (temporary, open)
  }

  /// Results of a comparison.
  package enum Report: Sendable {
    /// Of files that were restored.
    case restored([AuditJob.Finding])
    /// Of files that were backed up, which have rotted.
    case rotten([AuditJob.Finding])
  }

  package struct Result: CallResult {
    /// The id of the snapshot.
    package let snapshot: String
    /// The files of the snapshot.
    package let total: Drill.Amount
    package fileprivate(set) var files = 0
    package fileprivate(set) var bytes: Int64 = 0
    package fileprivate(set) var damaged = 0
    /// Links and FIFOs that were restored in addition to the files.
    package fileprivate(set) var others = 0
    /// Files that could not be restored for lack of space, or not be read.
    package fileprivate(set) var undrilled = 0
    package fileprivate(set) var rotten = 0
    fileprivate var isStopped = false
    /// Whether it was reported that the temporary folder cannot store all times or modes.
    fileprivate var hasNamedLimits = false
    /// Whether the temporary folder was full, or could not be emptied.
    fileprivate var isWithoutRoom = false
    /// Why the temporary folder could not be emptied.
    package fileprivate(set) var remains: BatchError?

    package var findings: [String: Int] {
      [
        "damaged": damaged, "undrilled": undrilled, "rot": rotten, "stopped": isStopped ? 1 : 0,
        "without_room": isWithoutRoom ? 1 : 0,
      ]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    func has(_ finding: String) -> Bool { (tally.findings[finding] ?? 0) > 0 }
    return CallVerdict()
      .adding(.incomplete, if: has("undrilled") || has("without_room"))
      .adding(.differences, if: has("damaged") || has("rot"))
      .adding(.budgetReached, if: has("stopped"))
  }

  /// - Throws: `malformed` when the manifest is damaged.
  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Report) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let start = ContinuousClock.now
    let (snapshot, set) = try open(run)
    let lock = try patience.flatMap { (patience) throws(BatchError) in
      try set.lockForReading(patience, in: run)
    }
    let drill = try Drill.prepare(snapshot, of: set, share: share, isSynced: isSynced, in: run)
    return Prepared { () throws(BatchError) in
      defer { withExtendedLifetime(lock) {} }
      var result = Result(snapshot: snapshot.name.stamp, total: drill.total)
      while !result.isWithoutRoom, let portion = try drill.next() {
        try restore(portion, of: drill, in: run, &result, report)
        if let budget, ContinuousClock.now - start >= budget, !drill.isComplete {
          result.isStopped = true
          break
        }
      }
      return result
    }
  }

  /// Restores some files, compares them, and removes them.
  private func restore(
    _ portion: Drill.Portion, of drill: Drill, in run: RunContext, _ result: inout Result,
    _ report: @escaping @Sendable (Report) throws(BatchError) -> Void
  ) throws(BatchError) {
    let folder = try TemporaryFolder(in: temporary, for: "drill", calls: run.calls)
    var undrilled = try extract(portion, of: drill, into: folder.path, in: run, &result)
    var damaged: Set<PathBytes> = []
    // If there was no space, the run ends.
    if !result.isWithoutRoom {
      let unknown = undrilled
      let metadata = RestoredMetadata(folder)
      let audit = Audit(portion, of: drill, with: folder.path, in: run)
      for index in audit.paths.indices { metadata.adjust(&audit.paths[index]) }
      damaged = try audit.restored { (findings) throws(BatchError) in
        try report(.restored(findings.filter { !unknown.contains($0.path) }))
      }.subtracting(unknown)
      undrilled.formUnion(audit.unread)
      if let limit = metadata.limit, !result.hasNamedLimits {
        result.hasNamedLimits = true
        run.report(Problem(.special, limit), severity: .warning)
      }
    }
    if portion.isOfOthers {
      result.others += portion.entries.count
    } else {
      result.files += portion.entries.count
    }
    result.bytes += min(Int64(clamping: portion.amount.bytes), .max - result.bytes)
    result.damaged += damaged.count
    result.undrilled += undrilled.count
    if isAgainstLive, !result.isWithoutRoom {
      result.rotten += try Audit(portion, of: drill, with: "/", in: run).rotten {
        (findings) throws(BatchError) in
        try report(.rotten(findings))
      }.count
    }
    try drill.finish(portion, damaged: damaged, undrilled: undrilled)
    do throws(BatchError) {
      try folder.remove()
    } catch {
      result.remains = error
      result.isWithoutRoom = true
    }
  }

  /// - Returns: the files for which the temporary folder had no space, which are reported.
  private func extract(
    _ portion: Drill.Portion, of drill: Drill, into folder: PathBytes, in run: RunContext,
    _ result: inout Result
  ) throws(BatchError) -> Set<PathBytes> {
    var options = ExtractionOptions()
    options.keepsGoing = true
    options.isSynced = false
    options.restoresOwner = false
    options.pathLimits = pathLimits
    options.memory = run.options.memory
    // Other files that cannot be restored are reported by the comparison.
    let refusals = OutputRefusals()
    let extraction = RunContext(
      sharing: run, stride: .automatic, observer: refusals, fileTimes: run.fileTimes)
    follow(extraction)
    let call = ExtractCall(.portion(try drill.reader(of: portion, options: options)), into: folder, options)
    let restored = try call.perform(.items([]), in: extraction, watchedBy: Unwatched()) { _ in }
    if let stopped = restored.summary.stopped {
      guard stopped.isOutOfSpace else { throw stopped }
      result.isWithoutRoom = true
      refuse(
        stopped,
        "\(portion.entries.count) \(portion.entries.count == 1 ? "file" : "files") could not be drilled",
        temporary, in: run)
      return Set(portion.entries.map(\.path))
    }
    if let failure = restored.result?.extraction.failure { throw failure }
    let refused = refusals.errors
    var undrilled: Set<PathBytes> = []
    for entry in portion.entries {
      guard let error = refused[entry.path] ?? refused[entry.contentName] else { continue }
      refuse(error, "could not be drilled", entry.path, in: run)
      undrilled.insert(entry.path)
    }
    return undrilled
  }

  private func refuse(_ error: BatchError, _ text: String, _ path: PathBytes, in run: RunContext) {
    let refusal = BatchError(
      .unwritable, "\(text): \(error.message)", path: path, errno: error.errno,
      remedy: "set TMPDIR to a directory that can hold it")
    run.report(Problem(.unreadable, refusal), severity: .failure)
  }

  /// The comparison of some files with their rows.
  private final class Audit {
    private let portion: Drill.Portion
    private let drill: Drill
    private let folder: PathBytes
    private let run: RunContext
    /// Files about which there is no finding, since they cannot be read.
    private(set) var unread: [PathBytes] = []

    /// The facts with which the files are compared.
    var paths: [RecordedPath]

    init(_ portion: Drill.Portion, of drill: Drill, with folder: PathBytes, in run: RunContext) {
      (self.portion, self.drill, self.folder, self.run) = (portion, drill, folder, run)
      paths = AuditRecords.paths(of: portion.entries)
    }

    /// - Returns: the restored files that differ.
    func restored(
      _ report: @escaping @Sendable ([AuditJob.Finding]) throws(BatchError) -> Void
    ) throws(BatchError) -> Set<PathBytes> {
      let context = RunContext(sharing: run, stride: .automatic, observer: run.observer)
      return try compare(sources: [], in: context) { (findings) throws(BatchError) in
        try report(findings)
        return findings.filter { $0.difference != nil }
      }
    }

    /// - Parameter report: receives only the files that have rotted; a tree may have changed since it was recorded.
    /// - Returns: these files.
    func rotten(
      _ report: @escaping @Sendable ([AuditJob.Finding]) throws(BatchError) -> Void
    ) throws(BatchError) -> Set<PathBytes> {
      let sources = drill.snapshot.footer.sources.compactMap(\.place)
      let context = RunContext(sharing: run, stride: .automatic, observer: nil)
      return try compare(sources: sources, in: context) { (findings) throws(BatchError) in
        let rotten = findings.filter { $0.difference?.kind == .rot }
        try report(rotten)
        return rotten
      }
    }

    private func compare(
      sources: [RelativePath], in context: RunContext,
      _ choose: @escaping @Sendable ([AuditJob.Finding]) throws(BatchError) -> [AuditJob.Finding]
    ) throws(BatchError) -> Set<PathBytes> {
      let live = try LiveTree(folder, options: WalkOptions(), sources: sources, in: SourceContext(context))
      let found = Mutex<Set<PathBytes>>([])
      let seen = Mutex<Set<PathBytes>>([])
      let call = AuditCall(.files(AuditSource(paths, live: live), live))
      let outcome = try call.perform(.items([]), in: context, watchedBy: Unwatched()) {
        (findings) throws(BatchError) in
        seen.withLock { $0.formUnion(findings.map(\.path)) }
        let chosen = try choose(findings)
        found.withLock { $0.formUnion(chosen.map(\.path)) }
      }
      if let stopped = outcome.summary.stopped { throw stopped }
      if outcome.summary.counts.failed > 0 {
        unread = seen.withLock { seen in portion.entries.map(\.path).filter { !seen.contains($0) } }
      }
      return found.withLock { $0 }
    }
  }
}

/// Errors of outputs, by the files that could not be created.
private final class OutputRefusals: RunObserver {
  private let found = Mutex<[PathBytes: BatchError]>([:])

  var errors: [PathBytes: BatchError] { found.withLock { $0 } }

  func met(_ problem: Problem, severity: Severity) {
    guard problem.error.code == .unwritable, severity == .failure, let path = problem.error.path else {
      return
    }
    found.withLock { $0[path] = problem.error }
  }
}
