import BatchEngine

/// One step of an audit.
package enum AuditItem: Sendable {
  /// The record of a path. If the length of its digest fits several algorithms, the others are tried too.
  case record(RecordedPath, others: [Digest])
  /// A path of the folder that is not recorded; hashed with the algorithms if a digest can show its origin.
  case new(PathBytes, FileRecord, [DigestAlgorithm])
  /// A path that is only in the other record.
  case newRecord(RecordedPath)
}

/// The other side of an audit.
package enum AuditTarget: Sendable {
  case live(LiveTree)
  case tree(RecordedTree)

  var hasAllKinds: Bool { if case .tree(let tree) = self { tree.hasAllKinds } else { true } }
}

/// Yields the paths of a record, and then those of the other side that are not in the record.
package struct AuditSource: BatchSource {
  private let target: AuditTarget
  private let plan: AuditPlan
  private var records: AuditRecords
  private var places = RecordedPlaces()
  private var newPaths: NewPaths?
  private var newRecords: ArraySlice<RecordedPath> = []
  private var isAtEnd = false
  private let findsNew: Bool
  /// Sizes of recorded files: a new file with another size cannot be a copy.
  private var sizes: Set<UInt64> = []
  private var hasUnknownSizes = false
  private var algorithms: [DigestAlgorithm] = []

  package init(_ records: AuditRecords, _ target: AuditTarget, _ plan: AuditPlan) {
    self.records = records
    self.target = target
    self.plan = plan
    findsNew = true
    for root in plan.roots { places.add(root, isDirectory: true) }
  }

  /// Compares only these paths of a snapshot; others in the folder are ignored.
  init(_ paths: [RecordedPath], live: LiveTree) {
    records = AuditRecords(paths)
    target = .live(live)
    plan = AuditPlan()
    findsNew = false
  }

  package mutating func next() throws(BatchError) -> Yielded<AuditItem, Never>? {
    while !isAtEnd {
      if let item = try nextRecord() { return item }
      isAtEnd = true
      guard findsNew else { break }
      switch target {
      case .live(let live): newPaths = NewPaths(live, places)
      case .tree(let tree): newRecords = tree.records[...]
      }
    }
    while let record = newRecords.popFirst() {
      if isNew(record) { return .item(.newRecord(record)) }
    }
    switch newPaths?.next() {
    case .item((var path, let record)):
      if !plan.beginsWithDot, path.bytes.starts(with: "./".utf8) { path = PathBytes(path.bytes.dropFirst(2)) }
      let size = UInt64(clamping: record.status.size)
      let mayBeCopy = record.status.kind == .regular && size > 0 && (hasUnknownSizes || sizes.contains(size))
      return .item(.new(path, record, mayBeCopy ? algorithms : []))
    case .problem(let problem): return .problem(problem)
    case nil: return nil
    }
  }

  private func isNew(_ record: RecordedPath) -> Bool {
    guard records.hasAllKinds || record.kind == .regular, let place = try? RelativePath(record.path) else {
      return false
    }
    return !place.bytes.isEmpty && !places.has(place.bytes)
  }

  private mutating func nextRecord() throws(BatchError) -> Yielded<AuditItem, Never>? {
    while let item = try records.next() {
      switch item {
      case .problem(let problem): return .problem(problem)
      case .item((let recorded, let others)):
        guard plan.takes(recorded.path), let record = recorded.dropping(plan.dropped) else { continue }
        if findsNew { places.add(record.path, isDirectory: record.kind == .directory) }
        guard record.kind == .regular || target.hasAllKinds else { continue }
        if findsNew, record.kind == .regular {
          if let size = record.size { sizes.insert(size) } else { hasUnknownSizes = true }
          if algorithms.isEmpty { algorithms = ([record.digest].compactMap { $0 } + others).map(\.algorithm) }
        }
        return .item(.record(record, others: others))
      }
    }
    return nil
  }

  package func weight(of item: AuditItem) -> Int64 {
    switch item {
    case .record(let record, _):
      if case .live = target, record.digest != nil { Int64(clamping: record.size ?? 0) } else { 0 }
    case .new(_, let record, let algorithms): algorithms.isEmpty ? 0 : max(0, record.status.size)
    case .newRecord: 0
    }
  }

  package func retained(by item: AuditItem) -> Int64 { 512 }
}

/// How the names of a record correspond to those of the other side.
package struct AuditPlan: Sendable {
  /// How many names are dropped from each recorded path.
  package var dropped = 0
  /// The remaining names below which unrecorded paths count as new; recorded folders always do.
  package var roots: [PathBytes] = []
  /// Whether the names of the record begin with `./`.
  package var beginsWithDot = false
  /// If only a part of the record is compared: the paths below these names.
  package var parts: [RelativePath]?

  package init() {}

  func takes(_ path: PathBytes) -> Bool {
    guard let parts else { return true }
    guard let place = try? RelativePath(path) else { return false }
    return parts.contains { part in
      part.bytes.isEmpty
        || place.bytes.starts(with: part.bytes)
          && (place.bytes.count == part.bytes.count || place.bytes[part.bytes.count] == UInt8(ascii: "/"))
    }
  }
}

extension AuditItem: FileItem {
  package var path: PathBytes? {
    switch self {
    case .record(let record, _), .newRecord(let record): record.path
    case .new(let path, _, _): path
    }
  }
}
