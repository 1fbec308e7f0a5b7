import BatchEngine

/// Reads the files that manifests name, and compares their digests.
package struct CheckCall: Call {
  private let reading: ManifestReader.Options
  /// Where relative names begin; nil for the working directory.
  private let directory: PathBytes?
  package var ignoresMissing = false
  package var ignoresMalformed = false
  /// Whether a line that is no row is a difference.
  package var failsOnOtherLines = false
  /// Appends the row of an entry; called on many threads at once.
  package var render: @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void = { _, _, _ in }

  package init(_ reading: ManifestReader.Options, in directory: PathBytes?) {
    (self.reading, self.directory) = (reading, directory)
  }

  package var limits: CallLimits { CallLimits(inputs: 1) }

  package var division: Division? {
    var division = Division(unit: .lines(self), join: .rows(header: []))
    division.checksFolders = false
    return division
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    let found = CheckTally(tally.findings)
    let isBad =
      found.differs + found.missing + found.malformed + found.malformedManifests > 0
      || failsOnOtherLines && found.text > 0
    return CallVerdict()
      .adding(.nothing, if: found.unreadableManifests > 0 && found.unreadableManifests == tally.paths)
      .adding(.differences, if: isBad || found.isWithoutProof(of: tally.paths))
      .adding(.someFailed, if: found.unreadable + found.unreadableManifests > 0)
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (CheckedChunk) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<CheckTally> {
    let (source, total) = try entries(of: input, in: run)
    let job = CheckJob(ignoresMissing: ignoresMissing, render: render, output: report)
    return Prepared(job, over: source, total: total) { $0 }
  }

  /// The entries of the manifests, each with the status of its file.
  package func entries(
    of input: CallInput, in run: RunContext
  ) throws(BatchError) -> (source: CheckSource, total: ResultOperation<Counters.Snapshot>?) {
    switch input {
    case .paths(let manifests, let selection):
      var lines = lines(manifests.counted, in: run)
      return (source(selection, in: run) { () throws(BatchError) in try lines.next() }, nil)
    case .shard(let work):
      // The plan has already selected the files.
      return (
        source(WalkOptions(), in: run) { () throws(BatchError) in try work.player.nextRow() }, work.total
      )
    case .items: throw BatchError(.invalid, "a check reads manifests, and no files of a walk")
    }
  }

  func lines(_ manifests: some Sequence<PathBytes>, in run: RunContext) -> CheckLines {
    CheckLines(manifests, options: reading, context: SourceContext(run))
  }

  func source(
    _ selection: WalkOptions, in run: RunContext, rows: @escaping () throws(BatchError) -> CheckLine?
  ) -> CheckSource {
    CheckSource(
      in: directory, ignoresMalformed: ignoresMalformed, selection: selection, context: SourceContext(run),
      rows: rows)
  }
}

extension CheckTally: CallResult {
  /// Whether no file was compared although nothing else is wrong.
  ///
  /// - Parameter manifests: how many manifests were given; nil for a part of their lines.
  package func isWithoutProof(of manifests: Int?) -> Bool {
    manifests != nil && entries == ignored && malformed + malformedManifests == 0
      && (entries > 0 || unreadableManifests == 0)
  }
}
