import BatchEngine

/// Digests every file of a tree: each is read once for all algorithms, and becomes a row.
public final class HashJob: BatchJob {
  private let algorithms: [DigestAlgorithm]
  private let render: @Sendable (ManifestRow, inout [UInt8]) throws(BatchError) -> Void
  private let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - algorithms: one or more; the digests of a row have their order.
  ///   - render: appends a file's row or rows; on many threads at once. An error it throws with a path
  ///     is that file's.
  ///   - output: takes the rows of a chunk; one call at a time, in tree order.
  public init(
    algorithms: [DigestAlgorithm],
    render: @escaping @Sendable (ManifestRow, inout [UInt8]) throws(BatchError) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.algorithms = algorithms
    self.render = render
    self.output = output
  }

  public func process(
    _ chunk: Chunk<WalkItem>, in context: ChunkContext
  ) throws(BatchError) -> ResultRows {
    let digests = try context.tool(of: self) { () throws(BatchError) in try DigestSet(algorithms) }
    var result = ResultRows()
    for item in chunk.items {
      context.resultCount = result.count
      switch item {
      case .file(let record):
        try hash(record, with: digests, in: context, into: &result)
      case .standardInput:
        digests.reset()
        var size: UInt64 = 0
        let isRead = try context.readStandardInput { (piece) throws(BatchError) in
          size += UInt64(piece.count)
          try digests.update(piece)
        }
        if isRead {
          try append(
            ManifestRow(path: "-", digests: digests.finish(), size: size, modified: nil), to: &result)
        }
      case .problem(let problem):
        context.report(problem)
      }
    }
    return result
  }

  public func collect(_ rows: ResultRows) throws(BatchError) {
    try output(rows)
  }

  private func hash(
    _ record: FileRecord, with digests: DigestSet, in context: ChunkContext, into result: inout ResultRows
  ) throws(BatchError) {
    var size: UInt64 = 0
    let outcome = try context.read(record) {
      digests.reset()
      size = 0
    } consume: { (piece) throws(BatchError) in
      size += UInt64(piece.count)
      try digests.update(piece)
    }
    guard let outcome else { return }
    let modified = ManifestTime(
      seconds: outcome.status.modified.seconds, nanoseconds: UInt32(outcome.status.modified.nanoseconds))
    do throws(BatchError) {
      try append(
        ManifestRow(path: record.path, digests: digests.finish(), size: size, modified: modified), to: &result
      )
    } catch {
      guard error.path != nil else { throw error }
      context.withdraw(Problem(.unreadable, error))
    }
  }

  private func append(_ row: ManifestRow, to result: inout ResultRows) throws(BatchError) {
    try result.append { (bytes) throws(BatchError) in try render(row, &bytes) }
  }
}
