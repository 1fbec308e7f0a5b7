import BatchEngine

/// Creates the members of an archive, or the files of a snapshot, in a folder.
package struct ExtractCall: Call {
  package enum Members {
    /// - Parameter globs: the texts that select members.
    case archive(ReadArchive, MemberSelection, globs: [PathBytes])
    case snapshot(RestoreSource)
    case portion(RestoreReader)
  }

  private let members: Members
  private let folder: PathBytes
  private let options: ExtractionOptions
  /// Descriptors that the reader needs.
  private let inputs: Int

  /// - Parameter folder: created if it is missing, unless the members are those of a portion.
  package init(
    _ members: Members, into folder: PathBytes, _ options: ExtractionOptions, inputs: Int = 0
  ) {
    (self.members, self.folder, self.options, self.inputs) = (members, folder, options, inputs)
  }

  package var limits: CallLimits { CallLimits(inputs: ExtractJob.descriptorsOfCollector + inputs) }

  package struct Result: CallResult {
    package let extraction: Extraction
    /// Texts that select nothing.
    package let unmatched: [UnmatchedGlob]

    package var findings: [String: Int] {
      [
        "unmatched": unmatched.count, "damaged": extraction.archive.isDamaged ? 1 : 0,
        "cut_short": extraction.archive.isCutShort ? 1 : 0, "unfinished": extraction.failure == nil ? 0 : 1,
        "made_safe": extraction.madeSafe, "misdescribed": extraction.misdescribed,
        "without_owner": extraction.withoutOwner, "refused": extraction.refusal == nil ? 0 : 1,
      ]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    let counts = tally.counts
    func has(_ finding: String) -> Bool { (tally.findings[finding] ?? 0) > 0 }
    let isIncomplete = counts.isIncomplete || has("unfinished") || has("damaged")
    let isNothing = counts.isNothing && (counts.failed > 0 || has("unmatched"))
    return CallVerdict()
      .adding(.incomplete, if: isIncomplete || has("cut_short") && !isNothing)
      .adding(.nothing, if: isNothing && !isIncomplete || has("refused"))
      .adding(
        .someFailed,
        if: counts.failed > 0
          || ["unmatched", "made_safe", "misdescribed", "without_owner"].contains { has($0) })
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (ExtractionReport) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    var options = options
    options.memory = run.options.memory
    switch members {
    case .archive(let archive, let selection, let globs):
      let file = try archive.open(in: run)
      let folders = FolderMaker(calls: run.calls)
      // A dry run shows what would be created below a folder that need not exist.
      let isNew = options.isDryRun ? false : try folders.makeLast(folder)
      if options.isDryRun { try folders.checkLast(folder) }
      let reader = try ExtractReader(
        file, selection: selection, globs: globs, options: options, by: run.reading)
      var prepared = Prepared(
        try job(selection, options, in: run, report), reading: reader, total: reader.total
      ) { Result(extraction: $0, unmatched: $0.archive.unmatched) }
      if isNew { prepared.complete = { removeTarget(without: $0, in: run) } }
      return prepared
    case .snapshot(let source):
      options.acceptsEqual = true
      options.keepsOtherFoldersPrivate = true
      let (reader, lock, cleaner) = try source.reader(options, in: run)
      options.cleaner = cleaner
      let folders = FolderMaker(calls: run.calls)
      let isNew = options.isDryRun ? false : try folders.make(folder)
      if options.isDryRun { try folders.checkLast(folder) }
      var prepared = try restoring(
        reader, selection: MemberSelection(strip: source.strip), options: options, in: run, report: report)
      // The lock is held until the end of the run.
      if isNew { prepared.complete = { removeTarget(without: $0, in: run) } }
      prepared.discard = { withExtendedLifetime(lock) {} }
      return prepared
    case .portion(let reader):
      return try restoring(reader, selection: MemberSelection(), options: options, in: run, report: report)
    }
  }

  /// Removes the new target folder if a text that selects nothing is why it is empty.
  private func removeTarget(without result: Result, in run: RunContext) {
    if !result.unmatched.isEmpty { FolderMaker(calls: run.calls).removeEmpty(folder) }
  }

  private func restoring(
    _ reader: RestoreReader, selection: MemberSelection, options: ExtractionOptions, in run: RunContext,
    report: @escaping @Sendable (ExtractionReport) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let unmatched = reader.unmatched
    return Prepared(try job(selection, options, in: run, report), reading: reader, total: nil) {
      Result(extraction: $0, unmatched: unmatched)
    }
  }

  private func job(
    _ selection: MemberSelection, _ options: ExtractionOptions, in run: RunContext,
    _ report: @escaping @Sendable (ExtractionReport) throws(BatchError) -> Void
  ) throws(BatchError) -> ExtractJob {
    try ExtractJob(into: folder, selection: selection, options: options, in: run, report: report)
  }
}

extension Counters.Snapshot {
  /// Whether outputs are missing or not whole: some could not be stored, or none could be created in the target.
  fileprivate var isIncomplete: Bool {
    let existing: [SkipReason] = [.kept, .upToDate, .superseded]
    return spoilt > 0 || refused > 0 && done == 0 && existing.allSatisfy { reasons[$0] == nil }
  }
}
