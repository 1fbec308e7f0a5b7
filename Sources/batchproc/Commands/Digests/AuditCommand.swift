import BatchCore
import BatchEngine
import BatchOutputs

/// `batchproc audit`.
struct AuditCommand: Command {
  private let manifest: PathBytes
  private let directory: PathBytes
  private let updates: Bool
  private let keys: AgeKeys?
  private let common: CommonOptions
  let session: Session

  init(
    _ parsed: ParsedCommand, common: CommonOptions, environment: (String) -> PathBytes?
  ) throws {
    manifest = parsed.operands.first ?? "-"
    directory = parsed.operands.dropFirst().first ?? "."
    updates = parsed.flag(.update)
    keys = try EncryptionChoices.keys(parsed)
    if updates, manifest == "-" {
      throw UsageError("Standard input cannot be updated.", in: parsed.command)
    }
    self.common = common
    session = try Session(common, environment: environment, inputs: 1)
  }

  /// - Throws: what ends the run before it begins.
  func run() throws(BatchError) -> Ending {
    let context = session.context
    let live = try LiveTree(directory, options: walkOptions(of: manifest), in: SourceContext(context))
    let source: AuditSource
    do throws(BatchError) {
      source = try AuditSource(manifest, keys: session.keys(keys), live: live, in: SourceContext(context))
    } catch {
      guard error.code == .malformed else { throw error }
      session.reporter.fatal(error)
      return .exit(.differences)
    }
    let form = source.form
    let rows = AuditRows(session: session)
    let job = AuditJob(live: live) { (findings) throws(BatchError) in try rows.write(findings) }
    let outcome = session.run(job, over: source)
    if let ending = session.endingBeforeSummary(outcome.summary) { return ending }
    guard let tally = outcome.result else { return .exit(.fatal) }
    let counts = outcome.summary.counts
    // Before the summary, which comes last.
    let updated = updates ? try update(form, tally, failed: counts.failed) : nil
    session.reporter.summary(
      outcome.summary,
      text: SummaryText(
        verb: "audited", files: counts.done, bytes: counts.byteCount,
        others: tally.words + [(counts.failed, "failed")], tallies: tally.words + [(tally.same, "same")]))
    if let updated { return updated }
    if tally.isDifferent { return .exit(.differences) }
    if tally.same == 0, counts.failed > 0 { return .exit(.fatal) }
    return .exit(counts.failed > 0 ? .someFailed : .success)
  }

  /// What counts as new: files alone where the manifest has no others.
  private func walkOptions(of manifest: PathBytes) throws(BatchError) -> WalkOptions {
    var walk = try session.walkOptions()
    walk.takesEverything = AuditSource.isOfSnapshot(
      manifest, keys: session.keys(keys), in: SourceContext(session.context))
    walk.skipsTemporaries = true
    walk.excluded.formUnion(
      [StandardStreams.outputFile, StandardStreams.identity(of: manifest)].compactMap { $0 })
    return walk
  }

  /// Replaces the manifest.
  private func update(_ form: AuditForm?, _ tally: AuditJob.Tally, failed: Int) throws(BatchError) -> Ending {
    guard let form else {
      throw BatchError(.invalid, "only a backup writes a manifest of this form", path: manifest)
    }
    guard failed == 0, tally.counts[.rot] == nil else {
      session.reporter.fatal(
        BatchError(.invalid, "not updated: there is rot, or something could not be read", path: manifest))
      return .exit(tally.isDifferent ? .differences : .someFailed)
    }
    guard tally.isDifferent else { return .exit(.success) }
    let context = RunContext(sharing: session.context, stride: .automatic, observer: session.reporter)
    let writer = try ManifestWriter(form.format, algorithms: form.algorithms, zero: false)
    let file = try OutputFile(manifest, isReplacing: true, isSynced: common.fsync, in: context)
    var walk = try walkOptions(of: manifest)
    if let identity = file.identity { walk.excluded.insert(identity) }
    var header = [UInt8]()
    writer.appendHeader(to: &header)
    if !header.isEmpty { try file.write(header) }
    let start = directory.appending([]).bytes.count
    let job = HashJob(algorithms: writer.algorithms) { (row, bytes) throws(BatchError) in
      let name = row.path.bytes.dropFirst(start)
      try writer.append(
        ManifestRow(path: PathBytes(name), digests: row.digests, size: row.size, modified: row.modified),
        to: &bytes)
    } output: { (rows) throws(BatchError) in
      try file.write(rows.bytes)
    }
    let outcome = BatchRunner(context).run(job, over: context.tree([directory], options: walk))
    guard outcome.summary.stopped == nil, outcome.summary.counts.failed == 0 else {
      file.discard()
      return session.endingOfStopped(outcome.summary) ?? .exit(.someFailed)
    }
    try file.finish()
    session.warn(BatchError(.changed, "updated", path: manifest), as: .note)
    return .exit(.differences)
  }
}
