import BatchEngine

/// Turns a tree into items to archive: members, further names of earlier files, and large files block by block.
///
/// The first name of a file is determined here, where the whole tree passes, and not in chunks.
package struct ArchiveSource: BatchSource {
  private var tree: TreeSource
  private let format: ArchiveFormat
  private let blockSize: Int
  private let threshold: Int64
  private var large: LargeMember?
  private var blocksDone = 0
  private var firstNames: [FileIdentity: PathBytes] = [:]
  /// The names of members that are links; nil if no path can be there twice.
  private var linkNames: Set<PathBytes>?
  private let plannedFirst: () -> PathBytes?

  /// - Parameters:
  ///   - tree: the tree of a walk that takes everything.
  ///   - operandCount: the number of operands; nil if unknown. Several operands may contain the same files.
  ///   - plannedFirst: the first path of the last file, if a plan lists that as a further name.
  /// - Throws: `invalid` for a level that the format does not have.
  package init(
    _ tree: TreeSource, options: ArchiveOptions, operandCount: Int? = nil,
    plannedFirst: @escaping () -> PathBytes? = { nil }
  ) throws(BatchError) {
    self.tree = tree
    linkNames = operandCount == 1 ? nil : []
    self.plannedFirst = plannedFirst
    format = options.format
    blockSize = try format.blockSize(level: options.level)
    threshold = try Self.largeSize(options)
  }

  package mutating func next() -> Yielded<ArchiveItem, Never>? {
    nextBlock().map { .item($0) } ?? walk().map { item(for: $0) }
  }

  /// The next block of the last large file; nil when none is left.
  mutating func nextBlock() -> ArchiveItem? {
    guard let member = large else { return nil }
    guard blocksDone < member.blockCount else {
      large = nil
      return nil
    }
    defer { blocksDone += 1 }
    return .block(member, index: blocksDone)
  }

  /// The next step of the walk. Unless it is skipped, ``item(for:)`` follows, and then its blocks.
  mutating func walk() -> Walked? { tree.next() }

  /// Leaves the blocks of the last large file to the caller.
  mutating func dropBlocks() { large = nil }

  /// From this size in bytes on a file is archived in blocks.
  ///
  /// - Throws: `invalid` for a level that the format does not have.
  static func largeSize(_ options: ArchiveOptions) throws(BatchError) -> Int64 {
    Int64(try options.format.blockSize(level: options.level)) * 2
  }

  /// Whether a file is archived in blocks, by several lanes.
  func isLarge(_ record: FileRecord) -> Bool { record.status.size >= threshold }

  mutating func item(for walked: Walked) -> Yielded<ArchiveItem, Never> {
    switch walked {
    case .problem(let problem): .problem(problem)
    case .item(.standardInput):
      .problem(
        Problem(
          .unreadable,
          BatchError(.invalid, "standard input has no name and no size to archive it under", path: "-")))
    case .item(.file(let record)): item(for: record)
    }
  }

  private mutating func item(for record: FileRecord) -> Yielded<ArchiveItem, Never> {
    guard record.status.kind == .regular else { return .item(.member(record, dataMap: nil)) }
    if record.status.linkCount > 1, format.takesSpecialMembers {
      if let first = firstNames[record.status.identity] ?? plannedFirst() {
        // A link to itself is passed over: readers of cpio take further names beyond the number of links for empty files.
        let isNew = linkNames?.insert(MemberNaming.name(of: record.path)).inserted ?? true
        return .item(.link(record, first: isNew ? first : record.path))
      }
      // If it cannot be read, the collector refuses the links to it.
      firstNames[record.status.identity] = record.path
    }
    guard record.status.size >= threshold else { return .item(.member(record, dataMap: nil)) }
    let mayHaveHoles = record.status.allocated < record.status.size && format.container == .tar
    let map = mayHaveHoles ? tree.dataMap(of: record) : nil
    let member = LargeMember(record, dataMap: map, blockSize: blockSize)
    guard member.storedSize >= UInt64(clamping: threshold) else {
      return .item(.member(record, dataMap: map))
    }
    // In a format without holes, or for a file with too many ranges, zeros are stored as content.
    if let problem = tree.tooManyHoles(record, among: member.storedSize) { return .problem(problem) }
    large = member
    blocksDone = 0
    return .item(.header(member))
  }

  package var filteredCount: Int { tree.filteredCount }

  /// ``TreeSource/folderStatus`` of the tree.
  var folderStatus: FileStatus? { tree.folderStatus }

  package func weight(of item: ArchiveItem) -> Int64 {
    switch item {
    case .member(let record, _):
      ArchiveItem.storedSize(of: record) + min(record.excessPathLength * 2, ArchiveItem.mostOfPath)
    // Headers and blocks are separate frames.
    case .header, .block: .max
    case .link(let record, _): min(record.excessPathLength * 4, ArchiveItem.mostOfPath)
    }
  }

  package func count(of item: ArchiveItem) -> Int {
    if case .block = item { 0 } else { 1 }
  }

  package func retained(by item: ArchiveItem) -> Int64 {
    // The compressed size is not larger, and the buffers of a lane belong to the other half of the memory. A block also keeps
    // its uncompressed bytes, for the digest.
    if case .block = item { Int64(item.plainSize) * 2 } else { Int64(item.plainSize) }
  }
}
