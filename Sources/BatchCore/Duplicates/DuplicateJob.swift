import BatchEngine

/// Finds files with equal content: by size, then by their first and last blocks, then by the SHA-256 or BLAKE3 of the whole content.
///
/// Empty files are ignored. A certain digest from a cache replaces reading the file. If folders are compared too, nothing else
/// is read for them than the targets of links, and files below the minimum size.
package struct DuplicateJob: BatchJob {
  package typealias Item = DuplicateItem

  /// Bytes at the start, and at the end, that are compared first.
  static let blockSize = 4096
  /// Files up to this size are read as a whole at once.
  static let shortSize: Int64 = 16 << 10

  private let cache: DigestCache?
  private let asked: AskedItems<DuplicateItem>?
  private let mayRepeat: Bool
  private let keepsNames: Bool
  private let givesSHA256: Bool
  private let folderMinimum: Int64?
  private let report: @Sendable (DuplicateGroups) throws(BatchError) -> Void

  /// - Parameters:
  ///   - givesSHA256: whether groups have this digest; otherwise the fastest collision-resistant one.
  ///   - keepsNames: whether groups contain all names of a file that the walk finds.
  ///   - folderMinimum: nil if only files are compared. Otherwise folders are compared too, and groups of smaller files and folders
  ///     are left out; the source has files of all sizes.
  ///   - report: receives all groups once, at the end.
  package init(
    of source: DuplicateSource, cache: DigestCache? = nil, givesSHA256: Bool, keepsNames: Bool = false,
    folderMinimum: Int64? = nil, report: @escaping @Sendable (DuplicateGroups) throws(BatchError) -> Void
  ) {
    asked = source.asked
    mayRepeat = source.mayRepeat
    self.keepsNames = keepsNames
    self.givesSHA256 = givesSHA256 || cache != nil
    self.cache = cache
    self.folderMinimum = folderMinimum
    self.report = report
  }

  package func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> Worker {
    try Worker(cache.map { CachedDigests($0, [.sha256]) }, givesSHA256: givesSHA256, context)
  }

  package func add(_ row: DuplicateRow, in context: WorkerContext, to rows: inout [DuplicateRow]) {
    rows.append(row)
  }

  package func makeCollector(
    in context: CollectorContext, sharing: Void
  ) throws(BatchError) -> sending DuplicateCollector {
    let folders = try folderMinimum.map { minimum throws(BatchError) in try FolderSearch(minimumSize: minimum)
    }
    return DuplicateCollector(
      asked, folders, mayRepeat: mayRepeat, knowsDigests: cache != nil, keepsNames: keepsNames, context,
      report)
  }

  package final class Worker: BatchWorker {
    private struct Waiting {
      let file: DuplicateItem.Candidate
      let outcome: ReadOutcome
    }

    /// Digests for short files, several of which are hashed together.
    private let short: DigestSet
    private let long: DigestSet
    private let ends: DigestStream
    private let reader: DigestReader<Waiting>
    private let cached: CachedDigests?
    private let blocks: ScratchBuffer

    init(_ cached: CachedDigests?, givesSHA256: Bool, _ context: WorkerContext) throws(BatchError) {
      short = try DigestSet([.sha256], concurrency: context.concurrencyLimit)
      long = givesSHA256 ? short : try DigestSet([.blake3], concurrency: context.concurrencyLimit)
      ends = try DigestStream(.xxh128)
      reader = try DigestReader()
      blocks = try ScratchBuffer(capacity: DuplicateJob.blockSize * 2)
      self.cached = cached
    }

    package func process(
      _ item: DuplicateItem, in context: WorkerContext, into rows: inout [DuplicateRow]
    ) throws(BatchError) {
      switch item {
      case .ends(let file):
        try settle(in: context, into: &rows)
        rows.append(.ends(file, key: try key(of: file.record, in: context)))
      case .whole(let file): try readWhole(file, in: context, into: &rows)
      case .target(let link):
        try settle(in: context, into: &rows)
        rows.append(.target(link, try target(of: link.record, in: context)))
      }
    }

    package func end(in context: WorkerContext, into rows: inout [DuplicateRow]) throws(BatchError) {
      try settle(in: context, into: &rows)
    }

    /// - Returns: nil if a block could not be read, which has been reported.
    private func key(of record: FileRecord, in context: WorkerContext) throws(BatchError) -> Digest? {
      let size = UInt64(clamping: record.status.size)
      let length = min(size, UInt64(DuplicateJob.blockSize))
      let room = UnsafeMutableRawBufferPointer(rebasing: blocks.room[..<(Int(length) * 2)])
      do throws(BatchError) {
        try context.read(record, ranges: [0..<length, (size - length)..<size], into: room)
        return try ends.digest(of: UnsafeRawBufferPointer(room))
      } catch {
        try context.checkCancellation()
        context.report(Problem(error))
        return nil
      }
    }

    /// - Returns: nil if the link could not be read, which has been reported.
    private func target(of link: FileRecord, in context: WorkerContext) throws(BatchError) -> PathBytes? {
      do throws(BatchError) {
        try context.checkCancellation()
        return try context.withFolder(of: link) { (folder) throws(BatchError) in
          try link.linkTarget(in: folder)
        }
      } catch {
        try context.checkCancellation()
        context.report(Problem(error))
        return nil
      }
    }

    private func readWhole(
      _ file: DuplicateItem.Candidate, in context: WorkerContext, into rows: inout [DuplicateRow]
    ) throws(BatchError) {
      if let cached, let known = cached.known(of: file.record), known.isCertain,
        !cached.cache.isSampled(file.record.status.identity.inode)
      {
        try settle(in: context, into: &rows)
        cached.cache.countKnown()
        rows.append(.whole(file, digest: known.digests.first, isRead: false))
        return
      }
      let isShort = file.size <= Int64(MultiBufferDigests.longest)
      let content = try reader.read(
        file.record, for: isShort ? short : long, settling: cached?.cache.settling, in: context
      ) { () throws(BatchError) in try settle(in: context, into: &rows) }
      guard let content else {
        try settle(in: context, into: &rows)
        rows.append(.whole(file, digest: nil, isRead: true))
        return
      }
      let waiting = Waiting(file: file, outcome: content.outcome)
      if let digests = content.digests {
        finish(waiting, digests.first, into: &rows)
      } else {
        reader.wait(content, waiting)
      }
    }

    package func settle(in context: WorkerContext, into rows: inout [DuplicateRow]) throws(BatchError) {
      try reader.settle { (file, digest) throws(BatchError) in finish(file, digest, into: &rows) }
      context.resultCount = rows.count
    }

    /// A file that changed while it was read cannot be compared; that was reported.
    private func finish(_ file: Waiting, _ digest: Digest?, into rows: inout [DuplicateRow]) {
      let outcome = file.outcome
      let isUsable =
        outcome.isStable && outcome.status.hasSameContent(as: file.file.record.status)
      rows.append(.whole(file.file, digest: isUsable ? digest : nil, isRead: true))
      guard let cached, let digest, isUsable, outcome.isSettled else { return }
      for table in cached.tables(of: file.file.record) ?? [] {
        cached.cache.add(table, outcome.status, digest)
      }
    }
  }
}
