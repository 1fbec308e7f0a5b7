import BatchEngine
import BatchOutputs

/// Turns the files of a tree into items to compress: small files, blocks of large ones, further names of earlier files, blocks
/// of standard input.
package struct CompressSource: BatchSource {
  private var tree: TreeSource
  let options: OutputOptions
  let format: CompressionFormat
  let level: Int
  package let asked: AskedItems<CompressItem>? = AskedItems(isOrdered: false)
  private let blockThreshold: Int64
  /// Whether larger files are refused instead of being cut into blocks.
  private let isWhole: Bool
  private let cancellation: Cancellation
  private var large: LargeFile?
  private var nextBlock = 0
  private var firstNames: [FileIdentity: FirstLink] = [:]
  private var stream: StreamBlocks?
  private var claims: OutputClaims?
  /// Asks the plan whether a copy of the last file could collide with another output.
  private let planned: (() -> Bool)?

  /// - Parameters:
  ///   - operandCount: the number of operands; nil if unknown. Several operands can lead to one output.
  ///   - limit: files from this size on are refused, and no file is cut into blocks; nil cuts large files into blocks.
  ///   - planned: asks the plan of the tree whether a copy of the last file could collide with another output; nil without a plan.
  /// - Throws: `invalid` for a level that the format does not have.
  package init(
    _ tree: TreeSource, operandCount: Int?, format: CompressionFormat, level: Int?, options: OutputOptions,
    wholeBelow limit: Int64? = nil, planned: (() -> Bool)? = nil, cancellation: Cancellation
  ) throws(BatchError) {
    self.tree = tree
    // Sources that are removed during the run must be remembered, because copies must not replace their outputs.
    let remembers = options.copiesOthers && options.removesSource
    claims = operandCount == 1 && !remembers ? nil : OutputClaims()
    self.planned = planned
    self.options = options
    self.format = format
    self.level = try format.checkedLevel(level)
    self.cancellation = cancellation
    let threshold = try Self.blockThreshold(format, level: level)
    blockThreshold = limit ?? threshold
    isWhole = limit != nil
  }

  /// The size from which on a file is cut into blocks.
  static func blockThreshold(_ format: CompressionFormat, level: Int?) throws(BatchError) -> Int64 {
    Int64(try BlockPlan(format, level: level, fileSize: nil).blockSize) * 2
  }

  package mutating func next() throws(BatchError) -> Yielded<CompressItem, Never>? {
    if let stream {
      if let block = try stream.next() { return .item(.streamBlock(block, index: stream.count - 1)) }
      self.stream = nil
    }
    if let file = large {
      // No output depends on the blocks that are left out: a lane has decided that the file has none, or that they are not needed.
      if nextBlock < file.blockCount, file.needs(nextBlock) {
        defer { nextBlock += 1 }
        return .item(.block(file, index: nextBlock))
      }
      large = nil
    }
    switch tree.next() {
    case nil: return nil
    case .problem(let problem): return .problem(problem)
    case .item(.standardInput):
      if options.isDryRun { return .item(.streamBlock([], index: 0)) }
      let plan = try BlockPlan(format, level: level, fileSize: nil)
      let stream = StreamBlocks(size: plan.blockSize, cancellation: cancellation)
      self.stream = stream
      return .item(.streamBlock(try stream.next() ?? [], index: 0))
    case .item(.file(let record)): return try item(for: record)
    }
  }

  private mutating func item(for record: FileRecord) throws(BatchError) -> Yielded<CompressItem, Never> {
    if options.writesToStream {
      // Each name of a file is written as a separate file.
      guard record.status.size >= blockThreshold, !options.isDryRun else {
        return .item(.file(record, target: "-", hasRival: false))
      }
      if let problem = tree.tooManyHoles(record) { return .problem(problem) }
      return .item(try firstBlock(of: record, target: "-", hasRival: false, obstacle: nil))
    }
    if options.naming.isOutput(record, calls: tree.calls) { return .item(.compressed(record)) }
    let target = options.naming.target(of: record.path) ?? record.path
    switch claims?.claim(target, for: record) ?? .granted {
    case .granted: break
    case .repeated: return .item(.repeated(record))
    case .refused(let error): return .problem(Problem(.unreadable, error))
    }
    let hasRival = hasRival(copyOf: record)
    if record.status.linkCount > 1 {
      if let first = firstNames[record.status.identity], first.leads(record, tree.folders) {
        return .item(.link(HardLinkItem(record, target: target, first: first, hasRival: hasRival)))
      }
      firstNames[record.status.identity] = FirstLink(record: record, target: target)
    }
    guard record.status.size >= blockThreshold, !options.isDryRun || isWhole else {
      return .item(.file(record, target: target, hasRival: hasRival))
    }
    guard !isWhole else {
      let error = BatchError(
        .exhausted, "is too large: only files below \(blockThreshold) bytes are read", path: record.path)
      return .problem(Problem(.unreadable, error))
    }
    // Checked before further blocks are planned: planning exbibytes would never end. A lane reports it, unless the output is up to
    // date.
    let obstacle = tree.tooManyHoles(record)
    return .item(try firstBlock(of: record, target: target, hasRival: hasRival, obstacle: obstacle))
  }

  /// Whether a copy of the file would have the name of another source's output.
  private mutating func hasRival(copyOf record: FileRecord) -> Bool {
    guard options.copiesOthers, let target = options.naming.copyTarget(of: record.path) else { return false }
    let hasRival =
      planned?() == true || claims?.contain(target) == true
      || options.naming.hasRival(copyOf: record, calls: tree.calls)
    // The name belongs to the copy from now on, because a later operand may have a source with this output.
    if !hasRival, options.naming.pathWithoutSuffix(target) != nil { _ = claims?.claim(target, for: record) }
    return hasRival
  }

  private mutating func firstBlock(
    of record: FileRecord, target: PathBytes, hasRival: Bool, obstacle: Problem?
  ) throws(BatchError) -> CompressItem {
    let plan = try BlockPlan(format, level: level, fileSize: UInt64(record.status.size))
    let file = LargeFile(record, target: target, hasRival: hasRival, plan: plan, obstacle: obstacle)
    if obstacle == nil {
      large = file
      nextBlock = 1
    }
    return .block(file, index: 0)
  }

  package var filteredCount: Int { tree.filteredCount }

  package func weight(of item: CompressItem) -> Int64 {
    switch item {
    case .file(let record, _, _): record.status.size
    // Blocks start before other items, and each is a separate operation.
    case .block, .streamBlock, .proof, .copy, .again: .max
    case .link, .compressed, .repeated: 0
    }
  }

  package func count(of item: CompressItem) -> Int {
    switch item {
    case .block(_, let index), .streamBlock(_, let index): index == 0 ? 1 : 0
    case .proof, .copy, .again: 0
    case .file, .link, .compressed, .repeated: 1
    }
  }

  package func retained(by item: CompressItem) -> Int64 {
    switch item {
    case .block(let file, _): Int64(file.plan.blockSize)
    case .streamBlock(let bytes, _): Int64(bytes.count) * 2
    case .file, .proof, .copy, .again, .link, .compressed, .repeated: 0
    }
  }
}
