import BatchEngine

/// Lists the files that a backup would archive, and writes nothing. Files are read only if the options require that for all.
package struct BackupListJob: RowJob {
  package typealias Item = BackupItem

  private let isFull: Bool
  private let render: @Sendable (PathBytes, inout [UInt8]) -> Void
  package let output: @Sendable (ResultRows) throws(BatchError) -> Void

  /// - Parameters:
  ///   - isFull: whether unchanged files would be archived too.
  ///   - render: appends the row of a path; called on many threads at once.
  ///   - output: takes rows; one call at a time, in tree order.
  package init(
    isFull: Bool, render: @escaping @Sendable (PathBytes, inout [UInt8]) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.isFull = isFull
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> FunctionWorker<
    Item, ResultRows
  > {
    let digests = try DigestStream(.sha256)
    return FunctionWorker { (item, context, output) throws(BatchError) in
      try context.checkCancellation()
      switch item {
      case .archive(.block, _), .mount, .late: break
      case .further(let row): add(row.entry, context, &output)
      case .probe(let file): add(file.row.entry, context, &output)
      case .archive(_, let row):
        guard let row else { return }
        add(row.entry, context, &output)
      case .check(let record, _, let row, let before, _):
        guard let digest = try digests.digest(of: record, in: context)?.digest else { return }
        if digest == before.digest, !isFull {
          context.skip(.upToDate)
        } else {
          add(row.entry, context, &output)
        }
      }
    }
  }

  package func add(_ row: BackupRow, in context: WorkerContext, to output: inout ResultRows) {
    if case .kept(let rows) = row { for _ in 0..<rows.count { context.skip(.upToDate) } }
  }

  private func add(_ entry: SnapshotEntry, _ context: WorkerContext, _ output: inout ResultRows) {
    output.append { render(entry.path, &$0) }
    context.finish()
    context.count(bytes: entry.firstName == nil ? Int(clamping: entry.size) : 0)
  }
}

extension DigestStream {
  /// The digest of a file, which is not counted, and its status then; nil if it cannot be read, which has been reported.
  func digest(
    of record: FileRecord, in context: WorkerContext
  ) throws(BatchError) -> (digest: Digest, status: FileStatus)? {
    let outcome = try context.read(record, isCounted: false) {
      reset()
    } consume: { (piece) throws(BatchError) in
      try update(piece)
    }
    return try outcome.map { (outcome) throws(BatchError) in (try finish(), outcome.status) }
  }
}
