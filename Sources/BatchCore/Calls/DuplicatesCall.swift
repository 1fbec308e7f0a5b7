import BatchEngine

/// Finds files with equal content.
package struct DuplicatesCall: Call {
  /// Digests of earlier runs; nil if every file with a possible copy is read.
  package var cache: DigestCache?
  /// Whether groups have the SHA-256 of the content; otherwise the fastest collision-resistant digest.
  package var givesSHA256 = false
  /// Whether groups contain all names of a file that the walk finds.
  package var keepsNames = false
  /// Whether folders are compared too. Files below the minimum size of the walk are then compared where folders need it, and groups of
  /// smaller files and folders are left out.
  package var comparesFolders = false

  package init() {}

  package struct Result: CallResult {
    /// How many digests the cache knew.
    package var known = 0
    /// Why the cache could not be written; it is then made again by a later run.
    package var cacheFailure: BatchError?
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (DuplicateGroups) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    var minimum: Int64 = 0
    let (tree, counted) = try input.tree(in: run) { walk in
      walk.skipsTemporaries = true
      (walk.takesEverything, walk.followsOperands) = (comparesFolders, true)
      guard comparesFolders else { return }
      minimum = walk.minimumSize ?? 0
      walk.minimumSize = nil
    }
    let total = comparesFolders ? input.totalOfFiles(in: run) : counted
    let source = DuplicateSource(tree, mayRepeat: input.mayRepeat)
    let job = DuplicateJob(
      of: source, cache: cache, givesSHA256: givesSHA256, keepsNames: keepsNames,
      folderMinimum: comparesFolders ? minimum : nil, report: report)
    var prepared = Prepared(job, over: source, total: total) { [cache] (_) throws(BatchError) in
      Result(known: cache?.knownCount ?? 0, cacheFailure: cache?.finish())
    }
    prepared.discard = { [cache] in _ = cache?.finish() }
    return prepared
  }
}

extension CallInput {
  /// Whether one file may be below several paths.
  fileprivate var mayRepeat: Bool {
    if case .paths(let operands, _) = self { operands.known?.count != 1 } else { true }
  }

  /// Counts what a walk that takes everything finds, without the folders.
  fileprivate func totalOfFiles(in run: RunContext) -> ResultOperation<Counters.Snapshot>? {
    guard case .paths(let operands, var walk) = self else { return nil }
    (walk.skipsTemporaries, walk.takesEverything, walk.minimumSize) = (true, false, nil)
    return operands.total(walk, in: run)
  }
}

/// Links the copies of groups to their first file.
package struct LinkCall: Call {
  private let groups: [DuplicateGroup]
  private let mode: LinkMode
  private let isDryRun: Bool
  private let isSynced: Bool

  /// - Parameter isSynced: whether the kept file is synced before a copy is replaced.
  package init(_ groups: [DuplicateGroup], _ mode: LinkMode, isDryRun: Bool, isSynced: Bool) {
    (self.groups, self.mode, self.isDryRun, self.isSynced) = (groups, mode, isDryRun, isSynced)
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    CallVerdict().adding(.someFailed, if: tally.counts.failed > 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (LinkOutcome) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<LinkCollector.Tally> {
    let job = LinkJob(mode, isDryRun: isDryRun, isSynced: isSynced, report: report)
    return Prepared(job, over: LinkSource(groups), total: nil) { $0 }
  }
}

extension LinkCollector.Tally: CallResult {}
