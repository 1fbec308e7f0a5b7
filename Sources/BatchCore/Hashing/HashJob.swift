import BatchEngine

/// Hashes every file of a tree: each is read once for all algorithms, and becomes one row.
package struct HashJob: RowJob {
  package typealias Item = WalkItem

  private let algorithms: [DigestAlgorithm]
  private let render: @Sendable (ManifestRow, inout [UInt8]) throws(BatchError) -> Void
  package let output: @Sendable (ResultRows) throws(BatchError) -> Void
  private let cache: DigestCache?
  private let largeFiles = Blake3File.Files()

  /// - Parameters:
  ///   - algorithms: one or more; the digests of a row are in this order.
  ///   - render: appends a file's row or rows; called on many threads at once. An error with a path that it throws is reported
  ///     for that file.
  ///   - output: receives rows; one call at a time, in tree order.
  package init(
    algorithms: [DigestAlgorithm], cache: DigestCache? = nil,
    render: @escaping @Sendable (ManifestRow, inout [UInt8]) throws(BatchError) -> Void,
    output: @escaping @Sendable (ResultRows) throws(BatchError) -> Void
  ) {
    self.algorithms = algorithms
    self.cache = cache
    self.render = render
    self.output = output
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> some BatchWorker<
    WalkItem, ResultRows
  > {
    try FileWorker(
      DigestSet(algorithms, concurrency: context.concurrencyLimit),
      cached: cache.map { CachedDigests($0, algorithms) }, largeFiles: largeFiles,
      render: render)
  }

  /// Reads files and renders their rows.
  private final class FileWorker: BatchWorker {
    /// A file that waits for its digest.
    private struct Waiting {
      let record: FileRecord
      let size: UInt64
      let outcome: ReadOutcome
      let known: CachedDigests.Known?
    }

    private let digests: DigestSet
    private let reader: DigestReader<Waiting>
    private let cached: CachedDigests?
    private let largeFiles: Blake3File.Files
    private let render: @Sendable (ManifestRow, inout [UInt8]) throws(BatchError) -> Void

    init(
      _ digests: DigestSet, cached: CachedDigests?, largeFiles: Blake3File.Files,
      render: @escaping @Sendable (ManifestRow, inout [UInt8]) throws(BatchError) -> Void
    ) throws(BatchError) {
      self.digests = digests
      reader = try DigestReader()
      self.cached = cached
      self.largeFiles = largeFiles
      self.render = render
    }

    func process(
      _ item: WalkItem, in context: WorkerContext, into output: inout ResultRows
    ) throws(BatchError) {
      switch item {
      case .file(let record): try hash(record, in: context, into: &output)
      case .standardInput:
        try settle(in: context, into: &output)
        try hashStandardInput(in: context, into: &output)
      }
    }

    func end(in context: WorkerContext, into output: inout ResultRows) throws(BatchError) {
      try settle(in: context, into: &output)
    }

    func settle(in context: WorkerContext, into output: inout ResultRows) throws(BatchError) {
      try reader.settle { (file, digest) throws(BatchError) in
        context.resultCount = output.count
        try finish(
          file.record, [digest], size: file.size, file.outcome, known: file.known, in: context, into: &output)
      }
      context.resultCount = output.count
    }

    private func hash(
      _ record: FileRecord, in context: WorkerContext, into output: inout ResultRows
    ) throws(BatchError) {
      let known = cached?.known(of: record)
      if let cached, let known, known.isCertain, !cached.cache.isSampled(record.status.identity.inode) {
        try settle(in: context, into: &output)
        cached.cache.countKnown()
        context.finish()
        return try finish(
          record, known.digests, size: UInt64(clamping: record.status.size), record.status, in: context,
          into: &output)
      }
      let settling = cached?.cache.settling
      if digests.isBlake3, record.status.size >= Blake3File.threshold,
        let (digest, isSettled) = try Blake3File.digest(
          of: record, among: largeFiles, settling, in: context)
      {
        context.finish()
        note([digest], of: record, status: record.status, known: known, isSettled: isSettled, in: context)
        return try finish(
          record, [digest], size: UInt64(clamping: record.status.size), record.status, in: context,
          into: &output)
      }
      let content = try reader.read(record, for: digests, settling: settling, in: context) {
        () throws(BatchError) in try settle(in: context, into: &output)
      }
      guard let content else { return }
      if let digests = content.digests {
        try finish(
          record, digests, size: content.byteCount, content.outcome, known: known, in: context, into: &output)
      } else {
        reader.wait(
          content, Waiting(record: record, size: content.byteCount, outcome: content.outcome, known: known))
      }
    }

    /// Adds the row of a read file, and stores its digest in the cache.
    private func finish(
      _ record: FileRecord, _ digests: [Digest], size: UInt64, _ outcome: ReadOutcome,
      known: CachedDigests.Known?, in context: WorkerContext, into output: inout ResultRows
    ) throws(BatchError) {
      if outcome.isStable {
        note(
          digests, of: record, status: outcome.status, known: known, isSettled: outcome.isSettled, in: context
        )
      }
      try finish(record, digests, size: size, outcome.status, in: context, into: &output)
    }

    /// Stores the digest in the cache, unless it contradicts the cached one.
    private func note(
      _ digests: [Digest], of record: FileRecord, status: FileStatus,
      known: CachedDigests.Known?, isSettled: Bool, in context: WorkerContext
    ) {
      guard let cached else { return }
      if let known, known.digests != digests, status.hasSameContent(as: record.status) {
        cached.cache.countRotten()
        context.warn(
          Problem(
            .changed,
            BatchError(
              .changed,
              "ROT: the content changed since it was last read, but size and time did not",
              path: record.path)))
        return
      }
      guard isSettled else { return }
      for (table, digest) in zip(cached.tables(of: record) ?? [], digests) {
        cached.cache.add(table, status, digest)
      }
    }

    private func finish(
      _ record: FileRecord, _ digests: [Digest], size: UInt64, _ status: FileStatus,
      in context: WorkerContext,
      into output: inout ResultRows
    ) throws(BatchError) {
      do throws(BatchError) {
        try append(
          ManifestRow(path: record.path, digests: digests, size: size, modified: status.modified), to: &output
        )
      } catch {
        guard error.path != nil else { throw error }
        context.withdraw(Problem(.unreadable, error))
      }
    }

    private func hashStandardInput(
      in context: WorkerContext, into output: inout ResultRows
    ) throws(BatchError) {
      digests.reset()
      var size: UInt64 = 0
      let isRead = try context.readStandardInput { (piece) throws(BatchError) in
        size += UInt64(piece.count)
        try digests.update(piece)
      }
      guard isRead else { return }
      try append(ManifestRow(path: "-", digests: digests.finish(), size: size, modified: nil), to: &output)
    }

    private func append(_ row: ManifestRow, to output: inout ResultRows) throws(BatchError) {
      try output.append { (bytes) throws(BatchError) in try render(row, &bytes) }
    }
  }
}
