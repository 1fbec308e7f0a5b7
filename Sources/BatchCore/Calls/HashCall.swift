import BatchEngine
import BatchOutputs

/// Hashes the files of a tree.
package struct HashCall: Call {
  /// In the order of the digests of a row; one or more.
  private let algorithms: [DigestAlgorithm]
  private let writer: ManifestWriter
  /// Digests of earlier runs; nil if every file is read.
  package var cache: DigestCache?
  /// Receives the rows, after the header.
  package var output = CallOutput.none
  /// Whether ``Batch/HashedFile`` values are reported, and not the rows of the output.
  var reportsFiles = false
  /// Changes a path to the name in the manifest; nil if it stays.
  package var renames: (@Sendable (PathBytes) -> PathBytes)?
  /// Whether the output is discarded when a file fails.
  package var isWhole = false

  package init(_ writer: ManifestWriter) {
    algorithms = writer.algorithms
    self.writer = writer
  }

  package var limits: CallLimits { CallLimits(inputs: output.path == nil ? 0 : 2) }

  package var division: Division? {
    var division = Division(unit: .files(), join: .rows(header: header))
    division.outputs = [output.path].compactMap { $0 }
    return division
  }

  private var header: [UInt8] {
    var header: [UInt8] = []
    writer.appendHeader(to: &header)
    return header
  }

  package func verdict(_ tally: CallTally) -> CallVerdict {
    CallVerdict(tally.counts).adding(.differences, if: (tally.findings["rotten"] ?? 0) > 0)
  }

  /// What a cache knew.
  package struct Result: CallResult {
    package var known = 0
    package var rotten = 0
    /// Why the cache could not be written; it is then made again by a later run.
    package var cacheFailure: BatchError?

    package var findings: [String: Int] { rotten > 0 ? ["rotten": rotten] : [:] }
  }

  package func prepare(
    _ input: CallInput, in run: RunContext,
    report: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) throws(BatchError) -> Prepared<Result> {
    let opened = try output.open(in: run)
    return try opened.orDiscard { () throws(BatchError) in
      let header = header
      if let stream = opened.stream, !header.isEmpty { try stream.write(header) }
      let (tree, total) = try input.tree(in: run) { walk in
        // With cached digests the walk is most of the work.
        if cache != nil { walk.readAheadThreshold = .zero }
        walk.excluded.formUnion(opened.ownFiles)
      }
      let job = HashJob(algorithms: algorithms, cache: cache) { (row, bytes) throws(BatchError) in
        if reportsFiles { return Batch.HashedFile.append(row, to: &bytes) }
        try append(row, to: &bytes)
      } output: { (rows) throws(BatchError) in
        if let stream = opened.stream, !rows.bytes.isEmpty { try stream.write(try lines(of: rows)) }
        try report(rows)
      }
      var prepared = Prepared(job, over: tree, total: total) { (_) throws(BatchError) in
        Result(
          known: cache?.knownCount ?? 0, rotten: cache?.rottenCount ?? 0, cacheFailure: cache?.finish())
      }
      prepared.complete = { (_) throws(BatchError) in try complete(opened, run.counters.snapshot) }
      prepared.discard = {
        _ = cache?.finish()
        opened.discard()
      }
      return prepared
    }
  }

  private func append(_ row: ManifestRow, to bytes: inout [UInt8]) throws(BatchError) {
    guard let renames else { return try writer.append(row, to: &bytes) }
    let renamed = ManifestRow(
      path: renames(row.path), digests: row.digests, size: row.size, modified: row.modified)
    try writer.append(renamed, to: &bytes)
  }

  private func lines(of rows: ResultRows) throws(BatchError) -> [UInt8] {
    guard reportsFiles else { return rows.bytes }
    var lines: [UInt8] = []
    for slice in rows.slices {
      guard let file = Batch.HashedFile(slice, algorithms) else { continue }
      try append(file.row, to: &lines)
    }
    return lines
  }

  private func complete(_ opened: CallOutput.Opened, _ counts: Counters.Snapshot) throws(BatchError) {
    if let path = output.path {
      guard !isWhole || counts.failed == 0 else {
        throw BatchError(.invalid, "not updated: something could not be read", path: path)
      }
      guard counts.done > 0 || !Self.hasContent(path) else {
        throw BatchError(
          .missing, "not replaced: no file was found, and the manifest has rows", path: path,
          remedy: "mount the directory; or, if this is meant, remove the manifest first")
      }
    }
    try opened.finish()
  }

  private static func hasContent(_ manifest: PathBytes) -> Bool {
    guard let status = try? manifest.status(followingLinks: true) else { return false }
    return status.kind == .regular && status.size > 0
  }
}
