import BatchEngine

/// Records the paths below a folder, with the digests of its files.
struct FolderRecordJob: BatchJob {
  typealias Item = WalkItem

  let live: LiveTree
  let algorithm: DigestAlgorithm

  func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<WalkItem, [RecordRow]> {
    let comparison = LiveComparison(live)
    return FunctionWorker { (item, context, output) throws(BatchError) in
      try context.checkCancellation()
      switch item {
      case .standardInput: break
      case .file(let file):
        // Without the slash after the folder.
        let rest = file.path.bytes.dropFirst(live.path.bytes.count).drop { $0 == UInt8(ascii: "/") }
        let place = try RelativePath(PathBytes(rest))
        guard let (record, identity, links) = try comparison.record(at: place, algorithm, in: context) else {
          return
        }
        if record.kind != .regular || record.digest != nil { context.finish() }
        output.append(
          RecordRow(record: record, identity: record.kind == .regular && links > 1 ? identity : nil))
      }
    }
  }

  func makeCollector(in context: CollectorContext, sharing: Void) -> sending RecordCollector {
    RecordCollector()
  }
}

/// Records the members of an archive, whose contents were read.
struct MemberRecordJob: BatchJob {
  typealias Item = MemberListReader.Item

  func makeWorker(in context: WorkerContext, sharing: Void) -> FunctionWorker<Item, [RecordRow]> {
    FunctionWorker { (item, context, output) in
      switch item {
      case .members, .rows: break
      case .member(let member):
        guard let entry = member.entry else { return }
        // In zip and 7z, root may only mean that no owner is stored.
        let hasOwner = entry.owner != 0 || entry.group != 0 || !entry.ownerName.isEmpty
        var record = RecordedPath(entry, member.member.digest, hasOwner: hasOwner)
        record.attributes = nil
        output.append(RecordRow(record: record, identity: nil))
        context.finish()
      }
    }
  }

  func makeCollector(in context: CollectorContext, sharing: Void) -> sending RecordCollector {
    RecordCollector()
  }
}

/// One recorded path.
struct RecordRow: Sendable {
  let record: RecordedPath
  let identity: FileIdentity?
}

/// Collects records, and determines which are names of one file.
final class RecordCollector: BatchCollector {
  private var records: [RecordedPath] = []
  private var firstNames: [FileIdentity: PathBytes] = [:]

  func collect(_ rows: [RecordRow]) {
    for row in rows {
      var record = row.record
      if let identity = row.identity {
        if let first = firstNames[identity] {
          record.firstName = first
        } else {
          firstNames[identity] = record.path
        }
      }
      records.append(record)
    }
  }

  func finish() -> RecordedTree { RecordedTree(records, hasAllKinds: true) }
}
