/// The files below some operands, in tree order.
public struct TreeSource: BatchSource {
  private var walker: TreeWalker
  /// What to yield instead of a walk.
  private let known: (() -> Walked?)?
  /// As in ``BatchOptions/mostHoles``.
  private let mostHoles: UInt64

  init(walker: TreeWalker, mostHoles: UInt64, known: (() -> Walked?)? = nil) {
    self.walker = walker
    self.mostHoles = mostHoles
    self.known = known
  }

  public mutating func next() -> Yielded<WalkItem, Never>? { known == nil ? walker.next() : known?() }

  /// The status of the folder of the last item, as it was when it was listed; nil for an operand.
  package var folderStatus: FileStatus? { walker.folderStatus }

  public var filteredCount: Int { walker.filteredCount }

  /// The ranges of a file that have data; nil if it has no holes, or the ranges are unknown.
  package func dataMap(of record: FileRecord) -> [Range<UInt64>]? {
    try? withFile(record) { (descriptor, _) throws(BatchError) in
      DataMap.read(descriptor, size: UInt64(clamping: record.status.size))
    }
  }

  /// The problem of a file with more holes than the options allow; nil if it has fewer. The file is opened only if it may have
  /// too many.
  ///
  /// - Parameter size: how many of its bytes are to be read; nil for all.
  package func tooManyHoles(_ record: FileRecord, among size: UInt64? = nil) -> Problem? {
    let size = size ?? UInt64(clamping: record.status.size)
    guard size - min(size, UInt64(clamping: record.status.allocated)) > mostHoles else { return nil }
    let found = try? withFile(record) { (descriptor, now) throws(BatchError) in
      DataMap.hasHoles(descriptor, now, above: mostHoles)
    }
    return found == true ? Problem(BatchError.tooManyHoles(mostHoles).at(record.path)) : nil
  }

  /// Opens a file on the thread of the walk to examine its holes; no content is read.
  private func withFile<Result>(
    _ record: FileRecord, _ body: (Int32, FileStatus) throws(BatchError) -> Result
  ) throws(BatchError) -> Result {
    try walker.descriptors.withDescriptors(DescriptorBudget.tokensToRead) { () throws(BatchError) in
      try FileReader(calls: calls, by: ReadingRight()).withFile(record, body)
    }
  }

  package var calls: any FileSystemCalls { walker.calls }

  /// Opens the folders of the tree again.
  package var folders: FolderOpener {
    FolderOpener(calls: walker.calls, holding: walker.descriptors.heldFolders)
  }

  /// Takes descriptors from the budget of the run.
  package func withDescriptors<Result>(_ count: Int, _ body: () -> Result) -> Result {
    walker.descriptors.withDescriptors(count, body)
  }

  package func weight(of walked: Walked) -> Int64 {
    if case .item(let item) = walked { weight(of: item) } else { 0 }
  }

  public func weight(of item: WalkItem) -> Int64 {
    guard case .file(let record) = item else { return 0 }
    let size = record.status.kind == .regular ? max(0, record.status.size) : 0
    let (weight, isHuge) = size.addingReportingOverflow(record.excessPathLength)
    return isHuge ? .max : weight
  }

  /// The size of its row, which contains the path.
  public func retained(by item: WalkItem) -> Int64 {
    if case .file(let record) = item { record.excessPathLength * 2 } else { 0 }
  }
}
