import BatchEngine

/// Turns a tree into items to mirror: entries, ranges of large files, and further names of earlier files.
package struct MirrorSource: BatchSource {
  package typealias Row = MirrorRow

  /// From this size in bytes on, all lanes copy ranges of a file.
  static let largeSize: Int64 = 64 << 20

  private var tree: TreeSource
  private let operands: MirrorOperands
  private let cutsFiles: Bool
  private var firstPlaces: [FileIdentity: RelativePath] = [:]
  /// Hashes of the places of earlier entries, and whether each is a folder; nil if no two sources have the same place.
  private var claims: [Int: Bool]?
  private let plannedFirst: () -> PathBytes?
  private var large: LargeCopy?
  private var pieces = 0
  package let asked: AskedItems<MirrorItem>? = AskedItems(isOrdered: false)

  /// - Parameters:
  ///   - tree: of a walk that takes everything.
  ///   - cuttingFiles: whether large files are cut into ranges.
  ///   - plannedFirst: the first path of the last file, if a plan lists that as a further name.
  init(
    _ tree: TreeSource, _ operands: MirrorOperands, cuttingFiles: Bool,
    plannedFirst: @escaping () -> PathBytes? = { nil }
  ) {
    self.tree = tree
    self.operands = operands
    self.plannedFirst = plannedFirst
    cutsFiles = cuttingFiles
    claims = operands.mayMeet ? [:] : nil
  }

  package mutating func next() -> Yielded<MirrorItem, MirrorRow>? {
    if let large {
      if pieces < large.count {
        defer { pieces += 1 }
        return .item(.piece(large, index: pieces))
      }
      self.large = nil
    }
    switch tree.next() {
    case nil: return nil
    case .problem(let problem): return .problem(problem)
    case .item(.standardInput):
      return .problem(
        Problem(.unreadable, BatchError(.invalid, "standard input is no tree", path: "-")))
    case .item(.file(let record)): return item(for: record)
    }
  }

  private mutating func item(for record: FileRecord) -> Yielded<MirrorItem, MirrorRow> {
    let isFolder = record.status.kind == .directory
    if claims != nil {
      let place = operands.place(of: record)
      let known = claims?.updateValue(isFolder, forKey: place.bytes.hashValue)
      if let known, !(known && isFolder) {
        claims?[place.bytes.hashValue] = known
        return .problem(
          Problem(
            .unreadable,
            BatchError(
              .invalid, "left out: an earlier source has something with this name in the target",
              path: record.path)))
      }
    }
    if !isFolder, record.status.linkCount > 1 {
      let place = operands.place(of: record)
      let known = firstPlaces[record.status.identity]
      if let first = known ?? plannedFirst().map({ operands.place(of: $0) }) {
        return .row(
          .name(MirrorReport(record, place, .upToDate), first: first, isElsewhere: known == nil))
      }
      firstPlaces[record.status.identity] = place
    }
    guard cutsFiles, record.status.kind == .regular, record.status.size >= Self.largeSize else {
      return .item(.entry(record))
    }
    let copy = LargeCopy(record, operands.place(of: record))
    (large, pieces) = (copy, 1)
    return .item(.piece(copy, index: 0))
  }

  package var filteredCount: Int { tree.filteredCount }

  package func weight(of item: MirrorItem) -> Int64 {
    switch item {
    case .entry(let record), .again(let record, _):
      guard record.status.kind == .regular else { return record.excessPathLength }
      return max(0, min(record.status.size, record.status.allocated)) + record.excessPathLength
    case .piece: return LargeCopy.pieceSize
    case .verification(let file): return file.size
    }
  }

  package func count(of item: MirrorItem) -> Int {
    switch item {
    case .entry: 1
    case .piece(_, let index): index == 0 ? 1 : 0
    case .again, .verification: 0
    }
  }

  package func retained(by item: MirrorItem) -> Int64 {
    switch item {
    case .entry(let record), .again(let record, _):
      record.excessPathLength * 4
    case .piece(let copy, _): copy.record.excessPathLength
    case .verification: 0
    }
  }
}
