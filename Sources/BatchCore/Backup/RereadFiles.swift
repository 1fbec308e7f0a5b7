import BatchEngine

/// Large files that are read although their size and times are as in the previous snapshot (`--checksum`).
///
/// Such a file is archived in blocks, which are planned only if its content has changed. So all of these files are read before
/// the backup begins, by all lanes.
struct RereadFiles: Sendable {
  enum Finding: Sendable {
    /// Its content has changed.
    case rotten
    /// It could not be read: archiving it fails too, and reports why.
    case unread
  }

  private var findings: [PathBytes: Finding] = [:]

  /// Reads no files.
  init() {}

  /// Reads the files.
  ///
  /// - Parameter run: counts the bytes that are read.
  /// - Throws: `malformed` for the manifest, or the reason when the run is to stop.
  init(
    comparedWith previous: sending PreviousRows, of sources: [SnapshotSource], _ plan: BackupPlan,
    _ walk: WalkOptions,
    in run: RunContext
  ) throws(BatchError) {
    let source = Source(
      tree: try ArchiveSource(
        run.tree(sources.map(\.path), options: walk), options: plan.archive, operandCount: 1),
      sources: sources, plan: plan,
      previous: previous)
    let context = RunContext(sharing: run, stride: .automatic, observer: nil)
    let outcome = BatchRunner(context).run(Job(counters: run.counters), over: source)
    guard let findings = outcome.result else {
      throw outcome.summary.stopped ?? BatchError(.cancelled, "was stopped")
    }
    self.findings = findings
  }

  /// Nil for a file whose content is as recorded.
  func finding(about path: PathBytes) -> Finding? { findings[path] }

  private struct Item: FileItem {
    let record: FileRecord
    let digest: Digest

    var path: PathBytes? { record.path }
  }

  /// The large files of the tree that seem unchanged.
  private struct Source: BatchSource {
    var tree: ArchiveSource
    let sources: [SnapshotSource]
    let plan: BackupPlan
    var previous: PreviousRows
    var current = -1

    mutating func next() throws(BatchError) -> Yielded<Item, Never>? {
      while let walked = tree.walk() {
        guard case .item(.file(let record)) = walked else { continue }
        if let index = sources.index(beginningWith: record, behind: current) {
          current = index
          try previous.enter(sources[index].path)
        }
        let path = MemberNaming.name(of: record.path)
        guard let (entry, _) = try previous.find(path.bytes, isFolder: record.status.kind == .directory),
          record.status.kind == .regular, tree.isLarge(record), entry.isUnchanged(record.status),
          !plan.isDoubtful(entry), let digest = entry.digest
        else { continue }
        return .item(Item(record: record, digest: digest))
      }
      return nil
    }

    func weight(of item: Item) -> Int64 { item.record.status.size }
  }

  private struct Job: BatchJob {
    let counters: Counters

    func makeWorker(in context: WorkerContext, sharing: Void) throws(BatchError) -> FunctionWorker<
      Item, [(PathBytes, Finding)]
    > {
      let digests = try DigestStream(.sha256)
      return FunctionWorker { [counters] (item, context, output) throws(BatchError) in
        let digest = try digests.digest(of: item.record, in: context)?.digest
        counters.addBytes(Int(clamping: item.record.status.size))
        if digest != item.digest { output.append((item.record.path, digest == nil ? .unread : .rotten)) }
      }
    }

    func makeCollector(in context: CollectorContext, sharing: Void) -> sending Collector { Collector() }
  }

  private final class Collector: BatchCollector {
    private var findings: [PathBytes: Finding] = [:]

    func collect(_ output: [(PathBytes, Finding)]) {
      for (path, finding) in output { findings[path] = finding }
    }
    func finish() -> [PathBytes: Finding] { findings }
  }
}
