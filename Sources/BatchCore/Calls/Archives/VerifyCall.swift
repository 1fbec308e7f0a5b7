import BatchEngine

/// Decodes an archive, and compares all its checksums and its index with its content; also with a folder.
package struct VerifyCall: Call {
  private enum Source {
    case archive(ReadArchive)
    /// An archive that is open already.
    case open(ArchiveFile)
    /// An archive that is not finished, and what it was made of.
    case written(ArchiveFile, WrittenArchive)
  }

  private let source: Source
  /// A folder to compare the members with; nil for none.
  package var folder: (path: PathBytes, walk: WalkOptions)?
  /// The part of the archive that is read; nil for all of it.
  package var share: ReadShare?
  /// Whether members that supersede others are marked.
  package var marksMembers = false
  /// Descriptors that the reader needs.
  package var inputs = 1

  package init(_ archive: ReadArchive) { source = .archive(archive) }

  init(_ archive: ArchiveFile) { source = .open(archive) }

  /// Compares an archive that was just written with what it was made of.
  init(_ archive: ArchiveFile, madeOf written: WrittenArchive) { source = .written(archive, written) }

  package var limits: CallLimits { CallLimits(inputs: inputs) }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    let counts = tally.counts
    func has(_ finding: String) -> Bool { (tally.findings[finding] ?? 0) > 0 }
    return CallVerdict()
      .adding(.differences, if: has("different"))
      .adding(.nothing, if: counts.failed > 0 && counts.done == 0 && !has("different"))
      .adding(.someFailed, if: counts.failed > 0 || has("incomplete_members"))
  }

  /// - Throws: as ``ArchiveFile``; `malformed` if it is no archive; `invalid` if the names of the members begin above the folder.
  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable ([VerifyJob.Finding]) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Verification> {
    let file: ArchiveFile
    switch source {
    case .archive(let archive): file = try archive.open(in: run)
    case .open(let archive): file = archive
    case .written(let archive, let written):
      let reader = try VerifyReader(archive, madeOf: written, by: run.reading)
      return Prepared(VerifyJob(output: report), reading: reader, total: nil) { $0 }
    }
    let live = try folder.map { (folder) throws(BatchError) in
      var walk = folder.walk
      walk.takesEverything = true
      walk.skipsTemporaries = true
      if let identity = file.identity { walk.excluded.insert(identity) }
      return try LiveTree(folder.path, options: walk, in: SourceContext(run))
    }
    let memory = run.options.memory
    if let folder, let error = try file.wrongFolder(folder.path, memory: memory, by: run.reading) {
      throw error
    }
    let reader = try VerifyReader(
      file, live: live, memory: memory, marks: marksMembers, share: share, by: run.reading)
    return Prepared(VerifyJob(live: live, output: report), reading: reader, total: reader.total) { $0 }
  }
}

extension Verification: CallResult {
  package var findings: [String: Int] {
    ["different": isDifferent ? 1 : 0, "incomplete_members": incompleteMembers]
  }
}
