import BatchEngine

/// Makes recovery data in the format of PAR2 2.0 for some files.
package struct ParityCreateCall: Call {
  private let options: ParityOptions
  private let stem: PathBytes
  /// The folder in which the names in the recovery data begin; nil for that of `stem`.
  package var base: PathBytes?
  package var isReplacing = false
  package var isSynced = true

  /// - Parameter stem: the path of the index without its suffix.
  package init(_ options: ParityOptions, at stem: PathBytes) { (self.options, self.stem) = (options, stem) }

  package var limits: CallLimits { CallLimits(inputs: 4 + 2 * options.volumeCount, isFixed: true) }

  /// Recovery data that were written.
  package struct Result: CallResult {
    /// In the order in which they got their names.
    package fileprivate(set) var names: [PathBytes] = []
    package fileprivate(set) var layout: ParityLayout?
    /// Bytes of the files that are protected.
    package fileprivate(set) var inputSize: Int64 = 0
    /// Bytes of the recovery data.
    package fileprivate(set) var size: Int64 = 0
    fileprivate var written: WrittenParity?
  }

  package func prepare(
    _ input: CallInput, in run: RunContext, report: @escaping @Sendable (Never) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let (tree, total) = try input.tree(in: run) { $0.skipsTemporaries = true }
    _ = total
    let folder = try run.folders.folder(named: stem.parent)
    let base = try base.map { (base) throws(BatchError) in try run.folders.folder(named: base) } ?? folder
    StaleTemporaries.remove(in: folder)
    var prepared = Prepared { () throws(BatchError) in
      var result = Result()
      var tree = tree
      let sources = try sources(&tree, below: base, in: run, &result)
      guard !sources.isEmpty else { return result }
      let encoded = try ParityEncoder(sources, options, in: run).encode(scratchIn: folder)
      let written = try encoded.write(at: stem, in: folder, isReplacing: isReplacing)
      (result.layout, result.names, result.size) = (encoded.layout, written.names, written.size)
      result.written = written
      for _ in sources { run.counters.addDone() }
      return result
    }
    prepared.complete = { (result) throws(BatchError) in
      try result.written?.commit(isSynced: isSynced, by: run.commits)
      if isReplacing, let written = result.written {
        // Volumes of earlier recovery data may have other numbers.
        let name = PathBytes(stem.lastComponent)
        try OwnParity(of: name, in: folder, run).remove(
          except: Set(written.lastNames), isSynced: isSynced, by: run.commits)
      }
      result.written = nil
    }
    return prepared
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    CallVerdict(tally.counts).adding(.nothing, if: tally.counts.done == 0)
  }

  private func sources(
    _ tree: inout TreeSource, below base: OpenFolder, in run: RunContext, _ result: inout Result
  ) throws(BatchError) -> [ParityEncoder.Source] {
    var sources: [ParityEncoder.Source] = []
    while let next = tree.next() {
      try run.cancellation.check()
      switch next {
      case .row: break
      case .problem(let problem):
        let severity = run.options.policy.severity(of: problem.event)
        run.counters.count(problem, severity)
        run.report(problem, severity: severity)
      case .item(.standardInput):
        throw BatchError(.invalid, "recovery data need files with names", path: "-")
      case .item(.file(let record)):
        // Recovery data are not protected by others, and an empty file has no block.
        guard !ParityNames.isParity(record.path) else { run.counters.addSkipped(.notChosen); continue }
        guard record.status.size > 0 else { run.counters.addSkipped(.notChosen); continue }
        guard sources.count < ParityPacket.mostBlocks else {
          throw BatchError(.invalid, "more than 32,768 files, each of which needs a block")
        }
        let path = try Self.path(of: record.path, below: base.path)
        result.inputSize.addClamped(record.status.size)
        sources.append(
          .below(base, path, shown: record.path, size: UInt64(clamping: record.status.size)))
      }
    }
    return sources
  }

  /// A path as a name below a folder.
  ///
  /// - Throws: `invalid` if it does not begin with the path of the folder.
  private static func path(of path: PathBytes, below base: PathBytes) throws(BatchError) -> RelativePath {
    let elsewhere = BatchError(
      .invalid, "is not below the directory of the recovery data", path: path, remedy: .nameParityFolder)
    let folder = try? RelativePath(base)
    guard let whole = try? RelativePath(path), let folder, whole.wasAbsolute == folder.wasAbsolute else {
      throw elsewhere
    }
    let isBare = folder.bytes.isEmpty || folder.bytes == Array(".".utf8)
    guard !isBare else { return try RelativePath(PathBytes(whole.bytes)) }
    let prefix = folder.bytes + [UInt8(ascii: "/")]
    guard whole.bytes.starts(with: prefix), whole.bytes.count > prefix.count else { throw elsewhere }
    return try RelativePath(PathBytes(whole.bytes.dropFirst(prefix.count)))
  }
}
