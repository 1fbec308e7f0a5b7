import BatchEngine
import BatchOutputs

extension MirrorResult: CallResult {
  package var findings: [String: Int] {
    [
      "outputs": copied + linked + nodes + folders + described + upToDate + kept + removed,
      "copied": copied, "different": different, "rotten": rotten, "refused": refusal == nil ? 0 : 1,
      "unfinished": failure == nil ? 0 : 1,
    ]
  }
}

/// Copies trees into a folder.
package struct MirrorCall: Call {
  /// The sources, which a plan walks.
  package let sources: [PathBytes]
  package let target: PathBytes
  package var options: MirroringOptions
  /// Knows the digests of unchanged files; nil if they are read.
  package var cache: DigestCache?
  /// Receives the manifest.
  package var output = CallOutput.none
  private var shares: OutputOptions

  package init(_ sources: [PathBytes], into target: PathBytes, _ options: MirroringOptions) {
    (self.sources, self.target, self.options) = (sources, target, options)
    var shares = OutputOptions(
      naming: OutputNaming(.adding(suffix: PathBytes("")), directory: target),
      recognizing: OutputOptions.Recognition(length: 1) { _ in true })
    shares.syncsFolders = false
    shares.isSynced = options.isSynced
    self.shares = shares
  }

  package var outputs: OutputOptions? {
    get { shares }
    set { shares = newValue ?? shares }
  }

  package var limits: CallLimits {
    CallLimits(inputs: (output.path == nil ? 0 : 2) + 2 + options.linkSources.count)
  }

  package var division: Division? {
    var division = Division(unit: .entries(self), join: .mirror(self))
    division.outputs = [target, output.path].compactMap { $0 }
    division.skipsTemporaries = true
    return division
  }

  /// The entries of the sources, as a run has them.
  func source(_ walk: WalkOptions, in run: RunContext) -> MirrorSource {
    let operands = MirrorOperands(sources)
    return MirrorSource(run.tree(Operands(operands.paths).counted, options: walk), operands, options)
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    func has(_ finding: String) -> Bool { (tally.findings[finding] ?? 0) > 0 }
    return CallVerdict.ofOutputs(tally)
      .adding(.differences, if: has("different") || has("rotten"))
      .adding(.incomplete, if: has("unfinished"))
      .adding(.nothing, if: has("refused"))
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (MirrorReport) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<MirrorResult> {
    let operands = MirrorOperands(sources)
    try checkTarget(operands, in: run)
    let folders = FolderMaker(calls: run.calls, isSynced: options.isSynced)
    if options.isDryRun { try folders.checkLast(target) } else { try folders.makeLast(target) }
    let opened = try (options.isDryRun ? .none : output).open(in: run)
    return try opened.orDiscard { () throws(BatchError) in
      let identity = StandardStreams.identity(of: target)
      var used = WalkOptions()
      let (tree, total) = try input.walking(operands).tree(in: run) { walk in
        walk.takesEverything = true
        walk.skipsTemporaries = true
        walk.excluded.formUnion(opened.ownFiles)
        if let identity { walk.excluded.insert(identity) }
        used = walk
      }
      var first: () -> PathBytes? = { nil }
      if case .shard(let work) = input { first = { work.player.firstPath } }
      let source = MirrorSource(tree, operands, options, plannedFirst: first)
      var setting = MirrorJob.Setting(
        path: target, operands: operands, options: options, outputs: shares, walk: used)
      setting.protected = Set(opened.ownFiles)
      setting.cache = options.isDryRun ? nil : cache
      if case .shard(let work) = input {
        let result = work.result
        setting.shard = { (record) throws(BatchError) in try result.write(rows: record.bytes) }
      }
      let writer = try ManifestWriter(.gnu, algorithms: [.sha256])
      let job = MirrorJob(setting, asked: source.asked) { (one) throws(BatchError) in
        if let stream = opened.stream, let digest = one.digest {
          var row: [UInt8] = []
          try writer.append(
            ManifestRow(
              path: PathBytes(one.place.bytes), digests: [digest], size: UInt64(clamping: one.size),
              modified: one.modified), to: &row)
          try stream.write(row)
        }
        try report(one)
      }
      var prepared = Prepared(job, over: source, total: total) { (result) throws(BatchError) in
        var result = result
        result.rotten = cache?.rottenCount ?? 0
        return result
      }
      prepared.complete = { (result) throws(BatchError) in
        if let failure = cache?.finish() { run.report(Problem(.unreadable, failure), severity: .warning) }
        try complete(opened, result)
      }
      prepared.discard = {
        _ = cache?.finish()
        opened.discard()
      }
      return prepared
    }
  }

  /// Refuses a target that is one of the sources.
  private func checkTarget(_ operands: MirrorOperands, in run: RunContext) throws(BatchError) {
    guard !target.isEmpty else { throw BatchError(.invalid, "the target is the empty name", path: target) }
    for operand in operands.all {
      for place in [target, target.appending(operand.base)] {
        guard let source = try? run.calls.status(of: operand.path, followingLinks: true),
          let found = try? run.calls.status(of: place, followingLinks: true),
          source.identity == found.identity
        else { continue }
        throw BatchError(.invalid, "is the target, or its copy would be itself", path: operand.path)
      }
    }
  }

  private func complete(_ opened: CallOutput.Opened, _ result: MirrorResult) throws(BatchError) {
    if let path = output.path, result.rows == 0,
      let status = try? path.status(followingLinks: true), status.kind == .regular, status.size > 0
    {
      throw BatchError(
        .missing, "not replaced: no file was found, and the manifest has rows", path: path,
        remedy: "mount the source; or, if this is meant, remove the manifest first")
    }
    try opened.finish()
  }
}

extension CallInput {
  /// The same input with the paths as they are walked.
  fileprivate func walking(_ operands: MirrorOperands) -> CallInput {
    guard case .paths(_, let walk) = self else { return self }
    return .paths(Operands(operands.paths), walk)
  }
}
