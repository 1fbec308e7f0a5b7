/// The files below some operands, in tree order.
public struct TreeSource: BatchSource {
  private var walker: TreeWalker
  /// What is yielded in the place of a walk.
  private let known: (() -> WalkItem?)?

  init(walker: TreeWalker, known: (() -> WalkItem?)? = nil) {
    self.walker = walker
    self.known = known
  }

  public mutating func next() -> WalkItem? { known == nil ? walker.next() : known?() }

  /// The folder that the last item lies in, as it was when it was listed; nil for an operand.
  package var folderStatus: FileStatus? { walker.folderStatus }

  public var filteredCount: Int { walker.filteredCount }

  /// Where a file has data; nil when it has no holes or cannot be asked.
  package func dataMap(of record: FileRecord) -> [Range<UInt64>]? { walker.dataMap(of: record) }

  /// The problem of a file with more holes than are read; nil where it has fewer.
  ///
  /// - Parameter size: how many of its bytes are to be read; nil for all.
  package func tooManyHoles(_ record: FileRecord, among size: UInt64? = nil) -> Problem? {
    guard walker.hasTooManyHoles(record, among: size) else { return nil }
    return Problem(BatchError.tooManyHoles(walker.mostHoles).at(record.path))
  }

  /// The calls that the tree is read by.
  package var calls: any FileSystemCalls { walker.calls }

  /// Opens the folders of the tree again.
  package var folders: FolderOpener {
    FolderOpener(calls: walker.calls, holding: walker.descriptors.heldFolders)
  }

  /// Takes descriptors from the budget of the run.
  package func withDescriptors<Result>(_ count: Int, _ body: () -> Result) -> Result {
    walker.descriptors.withDescriptors(count, body)
  }

  public func weight(of item: WalkItem) -> Int64 {
    guard case .file(let record) = item else { return 0 }
    let size = record.status.kind == .regular ? max(0, record.status.size) : 0
    let (weight, isHuge) = size.addingReportingOverflow(record.excessPathLength)
    return isHuge ? .max : weight
  }

  /// The bytes of its row, which has the path.
  public func retained(by item: WalkItem) -> Int64 {
    if case .file(let record) = item { record.excessPathLength * 2 } else { 0 }
  }
}
