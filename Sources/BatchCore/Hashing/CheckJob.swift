import BatchEngine

/// Verifies the entries of manifests: reads each file once and compares its digests.
public final class CheckJob: BatchJob {
  private let ignoresMissing: Bool
  private let render: @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void
  private let output: @Sendable (CheckedChunk) throws(BatchError) -> Void

  /// - Parameters:
  ///   - ignoresMissing: files that are not there are neither reported nor counted as missing.
  ///   - render: appends what is to be shown of an entry; on many threads at once.
  ///   - output: takes the results of a chunk; one call at a time, in the manifest's order.
  public init(
    ignoresMissing: Bool,
    render: @escaping @Sendable (ManifestEntry, CheckOutcome, inout [UInt8]) -> Void,
    output: @escaping @Sendable (CheckedChunk) throws(BatchError) -> Void
  ) {
    self.ignoresMissing = ignoresMissing
    self.render = render
    self.output = output
  }

  public func process(
    _ chunk: Chunk<CheckItem>, in context: ChunkContext
  ) throws(BatchError) -> CheckedChunk {
    let digests = try context.tool(of: self) { () throws(BatchError) in DigestPool() }
    var result = CheckedChunk()
    for item in chunk.items {
      context.resultCount = result.rows.count
      switch item {
      case .file(let entry, let record):
        settle(entry, try check(entry, record, with: digests, in: context), in: &result)
      case .standardInput(let entry):
        settle(entry, try checkStandardInput(entry, with: digests, in: context), in: &result)
      case .unavailable(let entry, let error):
        let isMissing = error.code == .missing
        if isMissing, ignoresMissing {
          context.skip()
          result.tally.ignored += 1
        } else {
          context.report(Problem(isMissing ? .missing : .unreadable, error))
          settle(entry, isMissing ? .missing : .unreadable, in: &result)
        }
      case .malformed(let error):
        context.report(Problem(.malformed, error))
        result.tally.malformed += 1
      case .text(let error):
        context.skip()
        result.tally.text += 1
        result.text.append(error)
      case .unreadable(let problem):
        context.report(problem)
        result.tally.unreadableManifests += 1
      }
    }
    return result
  }

  public func collect(_ results: CheckedChunk) throws(BatchError) {
    try output(results)
  }

  private func settle(_ entry: ManifestEntry, _ outcome: CheckOutcome, in result: inout CheckedChunk) {
    result.tally.count(outcome)
    result.rows.append { render(entry, outcome, &$0) }
  }

  private func check(
    _ entry: ManifestEntry, _ record: FileRecord, with digests: DigestPool, in context: ChunkContext
  ) throws(BatchError) -> CheckOutcome {
    let found = try digests.read(entry.digests.map(\.algorithm)) { (set) throws(BatchError) in
      try context.read(record) {
        set.reset()
      } consume: { (piece) throws(BatchError) in
        try set.update(piece)
      }
    }
    guard let found else { return .unreadable }
    if found == entry.digests { return .matches }
    for guess in entry.otherReadings {
      let other = try digests.read([guess.algorithm]) { (set) throws(BatchError) in
        try context.reread(record) {
          set.reset()
        } consume: { (piece) throws(BatchError) in
          try set.update(piece)
        }
      }
      if other == [guess] { return .matches }
    }
    return .differs
  }

  private func checkStandardInput(
    _ entry: ManifestEntry, with digests: DigestPool, in context: ChunkContext
  ) throws(BatchError) -> CheckOutcome {
    let found = try digests.read(entry.digests.map(\.algorithm)) { (set) throws(BatchError) in
      set.reset()
      let isRead = try context.readStandardInput { (piece) throws(BatchError) in try set.update(piece) }
      return isRead ? true : nil
    }
    guard let found else { return .unreadable }
    return found == entry.digests ? .matches : .differs
  }
}
