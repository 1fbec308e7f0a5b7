import BatchEngine

/// Makes a snapshot of some paths in a set.
package struct BackupCall: Call {
  private let set: BackupSet
  private let options: BackupOptions
  /// The number of files of one operation; nil decides by the format.
  private let stride: Int?
  /// Called once, when the set is locked and nothing is archived yet.
  package var announce: (BackupRun) -> Void = { _ in }

  /// Called once, when everything is archived, before the archive is read back.
  package var completing: (BackupContent) -> Void = { _ in }

  /// Called once, when the walk begins. From then on the run may be asked to stop with what it has.
  package var walking: () -> Void = {}

  package init(to set: BackupSet, _ options: BackupOptions, stride: Int? = nil) {
    (self.set, self.options, self.stride) = (set, options, stride)
  }

  package var limits: CallLimits {
    get throws(BatchError) {
      CallLimits(
        stride: options.archive.format.stride(count: stride),
        laneMemory: try options.archive.memoryOfLane(), inputs: options.parity == nil ? 0 : 12)
    }
  }

  /// A snapshot. While the value exists, the lock of the set is held.
  package struct Result: CallResult {
    package let backup: BackupRun
    package let content: BackupContent
    /// How many members were read back and compared; nil if none were.
    package fileprivate(set) var verified: Int?

    package var findings: [String: Int] {
      ["rows": Int(clamping: content.footer.rows), "rotten": content.rotten]
    }
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    func count(_ finding: String) -> Int { tally.findings[finding] ?? 0 }
    return CallVerdict()
      .adding(.nothing, if: count("rows") == 0 && tally.counts.failed > 0)
      .adding(.differences, if: count("rotten") > 0)
      .adding(.someFailed, if: tally.counts.failed > 0)
  }

  /// - Throws: `locked` when another run has the lock, `missing` or `invalid` for a source that is missing or implausible,
  ///   `unwritable` when no files can be created in the folder.
  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable ([ArchivedMember]) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let (paths, walk) = try Self.sources(input)
    let backup = try BackupRun.prepare(paths, to: set, options: options, walk: walk, in: run, report: report)
    announce(backup)
    let source: BackupSource
    do throws(BatchError) {
      source = try backup.preparation.source(walk, in: run)
    } catch {
      backup.discard()
      throw error
    }
    walking()
    let total = Operands(backup.preparation.paths).total(walk, in: run)
    var prepared = Prepared(backup.job, over: source, total: total) { Result(backup: backup, content: $0) }
    prepared.complete = { [options, completing] (result) throws(BatchError) in
      completing(result.content)
      if let written = result.content.written, !result.content.isStopped {
        result.verified = try ArchiveReadBack(isSynced: options.isSynced, run: run).compare(
          backup.archive, backup.encryption, with: written)
      }
      try backup.complete(result.content)
    }
    prepared.discard = { backup.discard() }
    return prepared
  }

  fileprivate static func sources(
    _ input: CallInput
  ) throws(BatchError) -> (paths: [PathBytes], walk: WalkOptions) {
    guard case .paths(let operands, var walk) = input else {
      throw BatchError(.invalid, "a backup takes paths, and no files of a walk")
    }
    let paths = Array(operands.uncounted)
    guard !paths.isEmpty else {
      throw BatchError(.missing, "the lists contain no path: no snapshot was made")
    }
    walk.takesEverything = true
    walk.skipsTemporaries = true
    walk.followsOperands = true
    return (paths, walk)
  }
}

/// Lists the files that a backup would archive; takes no lock, and writes nothing.
package struct BackupPreviewCall: Call {
  private let set: BackupSet
  private let options: BackupOptions
  private let render: @Sendable (PathBytes, inout [UInt8]) -> Void
  /// Called once, before the sources are walked.
  package var announce: (BackupPreparation) throws(BatchError) -> Void = { _ in }

  /// - Parameter render: appends the row of a path; called on many threads at once.
  package init(
    to set: BackupSet, _ options: BackupOptions,
    render: @escaping @Sendable (PathBytes, inout [UInt8]) -> Void
  ) {
    (self.set, self.options, self.render) = (set, options, render)
  }

  package struct Result: CallResult {
    package let preparation: BackupPreparation
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    CallVerdict().adding(.someFailed, if: tally.counts.failed > 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let (paths, walk) = try BackupCall.sources(input)
    _ = try BackupTarget(set, state: options.state, isNew: options.initializes, in: run)
    let preparation = try BackupPreparation.prepare(paths, to: set, options: options, in: run)
    try announce(preparation)
    let job = BackupListJob(isFull: preparation.header.isFull, render: render, output: report)
    return Prepared(job, over: try preparation.source(walk, in: run), total: nil) { _ in
      Result(preparation: preparation)
    }
  }
}

extension BackupOptions {
  /// Lets the next call continue a snapshot that ended at a checkpoint.
  ///
  /// - Returns: whether it ended there, so that a call must follow.
  package mutating func continues(_ result: BackupCall.Result) -> Bool {
    guard result.content.footer.isCut, !result.content.isStopped else { return false }
    earlier.append(result.content.header.name)
    heldLock = result.backup.lock
    return true
  }
}
