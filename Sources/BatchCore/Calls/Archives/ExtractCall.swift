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
      .adding(.nothing, if: isNothing && !isIncomplete)
      .adding(
        .someFailed, if: counts.failed > 0 || has("unmatched") || has("made_safe") || has("misdescribed"))
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
      if options.isDryRun { try folders.checkLast(folder) } else { try folders.makeLast(folder) }
      let reader = try ExtractReader(
        file, selection: selection, globs: globs, options: options, by: run.reading)
      return Prepared(
        try job(selection, options, in: run, report), reading: reader, total: reader.total
      ) { Result(extraction: $0, unmatched: $0.archive.unmatched) }
    case .snapshot(let source):
      options.acceptsEqual = true
      options.keepsOtherFoldersPrivate = true
      let (reader, lock) = try source.reader(options, in: run)
      if options.isDryRun {
        try FolderMaker(calls: run.calls).checkLast(folder)
      } else {
        try RestoreReader.makeTarget(folder, in: run)
      }
      var prepared = try restoring(
        reader, selection: MemberSelection(strip: source.strip), options: options, in: run, report: report)
      // The lock is held until the end of the run.
      prepared.discard = { withExtendedLifetime(lock) {} }
      return prepared
    case .portion(let reader):
      return try restoring(reader, selection: MemberSelection(), options: options, in: run, report: report)
    }
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
