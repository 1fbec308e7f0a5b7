import BatchEngine

/// Turns a tree into items to mirror: entries, ranges of large files, and further names of earlier files.
package struct MirrorSource: BatchSource {
  package typealias Row = MirrorRow

  /// From this size in bytes on, all lanes copy ranges of a file.
  static let largeSize: Int64 = 64 << 20

  /// The least weight of a file with content, in bytes: that of a file whose blocks the file system does not count.
  private static let block: Int64 = 4096

  private var tree: TreeSource
  private let operands: MirrorOperands
  private let cutsFiles: Bool
  private let readsHoles: Bool
  private var firstPlaces: [FileIdentity: RelativePath] = [:]
  /// Hashes of the places of earlier entries, and whether each is a folder; nil if no two sources have the same place.
  private var claims: [Int: Bool]?
  private let plannedFirst: () -> PathBytes?
  private var large: LargeCopy?
  private var pieces = 0
  package let asked: AskedItems<MirrorItem>? = AskedItems(isOrdered: false)

  /// - Parameters:
  ///   - tree: of a walk that takes everything.
  ///   - options: decide whether large files are cut into ranges, and what a hole costs.
  ///   - plannedFirst: the first path of the last file, if a plan lists that as a further name.
  init(
    _ tree: TreeSource, _ operands: MirrorOperands, _ options: MirroringOptions,
    plannedFirst: @escaping () -> PathBytes? = { nil }
  ) {
    self.tree = tree
    self.operands = operands
    self.plannedFirst = plannedFirst
    cutsFiles = !options.needsDigests && !options.isDryRun
    // For a digest or a comparison the zeros of a hole are processed as data; otherwise only data are copied.
    readsHoles = options.needsDigests || options.comparesContent
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
    return tree.next().map { item(for: $0) }
  }

  /// The next step of the walk, for a plan; ``item(for:)`` follows.
  mutating func walk() -> Walked? { tree.next() }

  /// ``TreeSource/folderStatus`` of the tree.
  var folderStatus: FileStatus? { tree.folderStatus }

  /// What a step of the walk becomes in a run; of a large file the first range.
  mutating func item(for walked: Walked) -> Yielded<MirrorItem, MirrorRow> {
    switch walked {
    case .problem(let problem): .problem(problem)
    case .item(.standardInput):
      .problem(Problem(.unreadable, BatchError(.invalid, "standard input is no tree", path: "-")))
    case .item(.file(let record)): item(for: record)
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
      var weight = contentWeight(of: record)
      weight.addClamped(record.excessPathLength)
      return weight
    case .piece: return LargeCopy.pieceSize
    case .verification(let file): return file.size
    }
  }

  /// Bytes of a file that are copied or read. A hole counts only if its zeros are read.
  func contentWeight(of record: FileRecord) -> Int64 {
    guard record.status.kind == .regular else { return 0 }
    let size = max(0, record.status.size)
    return readsHoles ? size : min(size, max(Self.block, record.status.allocated))
  }

  /// How many items a file becomes from its first one on.
  func itemCount(of item: MirrorItem) -> Int {
    if case .piece(let copy, _) = item { copy.count } else { 1 }
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
